"""Batches that begin early enough for whoever waits for them."""

from collections.abc import Callable
from typing import Any

import pytest

from pelton.consumers.batch import CloseReason
from pelton.consumers.batcher import Batcher
from pelton.schemas.records import Records

MAKE = Callable[..., Records]


def make_batcher(**limits: Any) -> Batcher:
    return Batcher(**{"max_size": 100, "max_wait_s": 10.0, "max_records": 400, "max_bytes": 10**9, **limits})


@pytest.mark.parametrize(("takes_s", "begins_in_s"), [(0.0, 3.0), (0.5, 2.5), (2.75, 0.25), (3.5, 0.0)])
def test_a_batch_begins_as_long_before_the_deadline_as_it_takes(
    block: MAKE, clock: Any, takes_s: float, begins_in_s: float
) -> None:
    batcher = make_batcher()
    batcher.takes_s = takes_s
    batcher.put(block([0, 1], arrived_s=clock.now_s, due_s=clock.now_s + 3.0))
    assert batcher.due_in_s() == pytest.approx(begins_in_s)
    if begins_in_s:
        clock.now_s += begins_in_s - 0.125
        assert batcher.take() is None
        clock.now_s += 0.125
    batch = batcher.take()
    assert batch is not None
    assert (batch.n_records, batch.closed_by) == (2, CloseReason.DEADLINE)


def test_the_nearest_deadline_counts_wherever_it_stands(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    for partition, left_s in enumerate((9.0, 2.0, 5.0)):
        batcher.put(block([0], partition=partition, arrived_s=clock.now_s, due_s=clock.now_s + left_s))
    assert batcher.due_in_s() == pytest.approx(2.0)
    clock.now_s += 2.0
    batch = batcher.take()
    assert batch is not None
    assert (batch.n_records, batch.closed_by) == (3, CloseReason.DEADLINE)


def test_a_far_deadline_changes_nothing(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    batcher.takes_s = 1.0
    batcher.put(block([0], arrived_s=clock.now_s, due_s=clock.now_s + 60.0))
    assert batcher.due_in_s() == pytest.approx(10.0)
    clock.now_s += 10.0
    batch = batcher.take()
    assert batch is not None
    assert batch.closed_by is CloseReason.WAIT


def test_a_full_batch_is_closed_by_its_size_however_near_the_deadline(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_size=2)
    batcher.put(block(range(3), arrived_s=clock.now_s, due_s=clock.now_s - 1.0))
    first, rest = batcher.take(), batcher.take()
    assert first is not None
    assert rest is not None
    assert (first.closed_by, rest.closed_by) == (CloseReason.SIZE, CloseReason.DEADLINE)
    assert rest.n_records == 1


def test_what_is_split_off_keeps_its_deadline(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_size=2)
    batcher.put(block(range(3), arrived_s=clock.now_s, due_s=clock.now_s + 3.0))
    assert batcher.take() is not None
    assert batcher.due_in_s() == pytest.approx(3.0)
