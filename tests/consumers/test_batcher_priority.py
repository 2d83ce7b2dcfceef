"""What goes first of a queue in which not everything is equally urgent."""

from collections.abc import Callable
from typing import Any

import pytest

from pelton.consumers.batcher import Batcher
from pelton.schemas.records import Records

MAKE = Callable[..., Records]


def make_batcher(**limits: Any) -> Batcher:
    return Batcher(**{"max_size": 3, "max_wait_s": 0.0, "max_records": 400, "max_bytes": 10**9, **limits})


def taken(batcher: Batcher) -> list[list[tuple[int, int]]]:
    """Return partition and offset of each record, batch by batch, until nothing is left."""
    batches = []
    while batch := batcher.take():
        batches.append([(part.partition, offset) for part in batch.parts for offset in part.offsets])
    return batches


def put(batcher: Batcher, *blocks: Records, priority: int = 4) -> None:
    for block in blocks:
        block.priority = priority
        batcher.put(block)


def test_the_most_urgent_go_first_and_equals_as_they_came(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    put(batcher, block(range(4), arrived_s=1.0), block([0], partition=1, arrived_s=2.0))
    put(batcher, block([0, 1], partition=2, arrived_s=3.0), priority=9)
    put(batcher, block([0, 1], partition=3, arrived_s=4.0), priority=5)
    assert taken(batcher) == [[(2, 0), (2, 1), (3, 0)], [(3, 1), (0, 0), (0, 1)], [(0, 2), (0, 3), (1, 0)]]
    assert (batcher.n_records, batcher.n_bytes) == (0, 0)


def test_what_is_left_lies_as_it_came(block: MAKE, clock: Any) -> None:
    """Trials go by offsets: a later record of a partition must not lie before an earlier one."""
    batcher = make_batcher()
    put(batcher, block(range(2), arrived_s=1.0))
    put(batcher, block(range(2, 7), arrived_s=1.0), priority=9)
    put(batcher, block(range(7, 9), arrived_s=1.0), priority=0)
    first = batcher.take()
    assert first is not None
    assert [part.offsets for part in first.parts] == [[2, 3, 4]]
    assert batcher.head is not None
    assert batcher.head.offsets == [0, 1]
    batcher.hold(held=True)
    batcher.admit(2)
    held = batcher.take()
    assert held is not None
    assert [part.offsets for part in held.parts] == [[0, 1]]
    batcher.hold(held=False)
    assert taken(batcher) == [[(0, 5), (0, 6), (0, 7)], [(0, 8)]]


def test_a_queue_that_is_held_gives_what_was_admitted_however_urgent_the_rest(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    batcher.hold(held=True)
    put(batcher, block([0, 1]))
    put(batcher, block([2, 3]), priority=9)
    batcher.admit(1)
    batch = batcher.take()
    assert batch is not None
    assert [part.offsets for part in batch.parts] == [[0]]


@pytest.mark.parametrize("limit", [2, 20])
def test_a_batch_closed_by_cost_holds_the_most_urgent(block: MAKE, clock: Any, limit: int) -> None:
    batcher = make_batcher(max_size=100, cost_limit=limit, cost=lambda event: 1)
    put(batcher, block(range(3)))
    put(batcher, block([3, 4]), priority=9)
    assert taken(batcher)[0] == [(0, 3), (0, 4), (0, 0), (0, 1), (0, 2)][:limit]
