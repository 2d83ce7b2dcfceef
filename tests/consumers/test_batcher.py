"""Batches: full on a backlog, once per wait on a drip, and never a record lost, doubled or out of order."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pelton.consumers.batch import Batch, CloseReason
from pelton.consumers.batcher import Batcher
from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import TOMBSTONE, Rejection

MAKE = Callable[..., Records]


def make_batcher(**limits: Any) -> Batcher:
    return Batcher(**{"max_size": 100, "max_wait_s": 1.0, "max_records": 400, "max_bytes": 10**9, **limits})


def taken(batcher: Batcher) -> Iterator[Batch]:
    """All batches that are due."""
    while (batch := batcher.take()) is not None:
        batcher.done()
        yield batch


def content(batch: Batch) -> list[tuple[int, int]]:
    return [(part.partition, offset) for part in batch.parts for offset in part.offsets]


def test_b09_a_backlog_makes_full_batches(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    for first in range(0, 10_000, 512):
        batcher.put(block(range(first, min(first + 512, 10_000)), arrived_s=clock.now_s))
    batches = list(taken(batcher))
    assert [batch.n_records for batch in batches] == [100] * 100
    assert {batch.closed_by for batch in batches} == {CloseReason.SIZE}
    assert [offset for batch in batches for _, offset in content(batch)] == list(range(10_000))
    assert (batcher.n_records, batcher.n_bytes) == (0, 0)


def test_one_record_is_wanted_to_begin_a_batch_and_then_all_that_it_lacks(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    wanted = [batcher.wanted]
    for n in (1, 60, 39, 50):
        batcher.put(block(range(n)))
        wanted.append(batcher.wanted)
    assert wanted == [1, 99, 39, 1, 1]


def test_b24_where_cost_closes_a_batch_each_record_is_looked_at_as_it_comes(block: MAKE, clock: Any) -> None:
    batcher = cost_batcher(50)
    batcher.put(block(range(1)))
    assert batcher.wanted == 1


@pytest.mark.parametrize(("wait_s", "expected"), [(0.97, 10), (0.05, 1)])
def test_b09_a_steady_drip_makes_one_batch_per_wait(block: MAKE, clock: Any, wait_s: float, expected: int) -> None:
    """Ten records a second: the first waits its full time, and takes along all that came meanwhile."""
    batcher = make_batcher(max_wait_s=wait_s)
    batches: list[Batch] = []
    start_s = clock.now_s
    for n in range(100):
        arrival_s = start_s + n / 10
        if batcher.due_in_s() < arrival_s - clock.now_s:
            clock.now_s += batcher.due_in_s()
            batches += taken(batcher)
        clock.now_s = arrival_s
        assert batcher.take() is None
        batcher.put(block([n], arrived_s=arrival_s))
    assert {batch.n_records for batch in batches} == {expected}
    assert {batch.closed_by for batch in batches} == {CloseReason.WAIT}
    assert [batch.waited_s for batch in batches] == pytest.approx([wait_s] * len(batches))
    assert [offset for batch in batches for _, offset in content(batch)] == list(range(100 - batcher.n_records))


def test_b09_the_wait_counts_from_the_first_record_and_not_from_the_last(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    assert batcher.due_in_s() == float("inf")
    batcher.put(block([0], arrived_s=clock.now_s))
    clock.now_s += 0.75
    batcher.put(block([1], arrived_s=clock.now_s))
    assert batcher.due_in_s() == pytest.approx(0.25)
    assert batcher.take() is None
    clock.now_s += 0.25
    assert batcher.due_in_s() == 0
    (batch,) = taken(batcher)
    assert (batch.n_records, batch.closed_by) == (2, CloseReason.WAIT)


def test_b09_while_the_device_is_busy_nothing_is_closed(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    for n in range(60):
        batcher.put(block([n], arrived_s=clock.now_s))
        clock.now_s += 0.5
    (batch,) = taken(batcher)
    assert batch.n_records == 60
    assert batch.waited_s == pytest.approx(30.0)


def test_what_is_left_of_a_full_batch_has_waited_already(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_size=10)
    batcher.put(block(range(13), arrived_s=clock.now_s))
    assert batcher.take().n_records == 10
    assert batcher.take() is None
    clock.now_s += 1.0
    assert batcher.take().n_records == 3


def test_b24_a_limit_counts_records_and_blocks_are_split_and_joined_in_order(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_size=32, max_wait_s=0.0)
    for partition in range(11):
        batcher.put(block(range(32 - partition), partition=partition, arrived_s=clock.now_s))
    batches = list(taken(batcher))
    assert all(batch.n_records == sum(map(len, batch.parts)) for batch in batches)
    assert [batch.n_records for batch in batches[:-1]] == [32] * (len(batches) - 1)
    expected = [(partition, offset) for partition in range(11) for offset in range(32 - partition)]
    assert [place for batch in batches for place in content(batch)] == expected
    assert batches[0].closed_by is CloseReason.SIZE
    assert batches[-1].closed_by is CloseReason.WAIT


def cost_batcher(limit: int, **limits: Any) -> Batcher:
    """Batches closed by cost, where an event is its own cost."""
    return make_batcher(max_wait_s=0.0, cost_limit=limit, cost=lambda event: event, **limits)


def test_b24_a_batch_is_closed_by_cost_before_it_is_too_dear(block: MAKE, clock: Any) -> None:
    batcher = cost_batcher(10)
    batcher.put(block(range(4), events=[4, 6, 1, 9], arrived_s=clock.now_s))
    batcher.put(block(range(2), partition=1, events=[3, 7], arrived_s=clock.now_s))
    batches = list(taken(batcher))
    assert [[event for part in batch.parts for event in part.events] for batch in batches] == [[4, 6], [1, 9], [3, 7]]
    assert [batch.closed_by for batch in batches] == [CloseReason.COST, CloseReason.COST, CloseReason.WAIT]


def test_b24_an_event_dearer_than_a_whole_batch_goes_alone(block: MAKE, clock: Any) -> None:
    batcher = cost_batcher(10)
    batcher.put(block(range(3), events=[50, 2, 60], arrived_s=clock.now_s))
    assert [batch.parts[0].events for batch in taken(batcher)] == [[50], [2], [60]]


def test_b24_the_size_limit_holds_beside_the_cost_limit(block: MAKE, clock: Any) -> None:
    batcher = cost_batcher(10, max_size=3)
    batcher.put(block(range(5), events=[1] * 5, arrived_s=clock.now_s))
    assert [(batch.n_records, batch.closed_by) for batch in taken(batcher)] == [
        (3, CloseReason.SIZE),
        (2, CloseReason.WAIT),
    ]


def test_b02_b11_what_is_no_event_costs_nothing_and_is_not_measured(block: MAKE, clock: Any) -> None:
    """A model's `size` is made for its events; it would raise on anything else, and with it the worker."""
    batcher = make_batcher(max_wait_s=0.0, cost_limit=5, cost=lambda event: event["tokens"])
    bad = Rejection(Code.MALFORMED, "not JSON", "decode", "ValueError")
    batcher.put(block(range(4), events=[bad, {"tokens": 3}, TOMBSTONE, {"tokens": 2}], arrived_s=clock.now_s))
    (batch,) = taken(batcher)
    assert batch.n_records == 4


def test_the_queue_is_full_by_records_or_by_bytes(block: MAKE) -> None:
    batcher = make_batcher(max_records=10, max_bytes=1000)
    batcher.put(block(range(5), n_bytes=100))
    assert batcher.filled == 0.5
    batcher.put(block([5], n_bytes=900))
    assert (batcher.filled, batcher.n_records, batcher.n_bytes) == (1.0, 6, 1000)
    batcher.put(block(range(6, 20), n_bytes=0))
    assert batcher.filled == 2.0


def test_b23_bytes_are_given_back_as_batches_leave(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_size=3, max_wait_s=0.0, max_bytes=1000)
    batcher.put(block(range(7), n_bytes=700, arrived_s=clock.now_s))
    left = []
    while batcher.take():
        batcher.done()
        left.append(batcher.n_bytes)
    assert left == [400, 100, 0]


def test_b07_only_queued_records_of_lost_partitions_are_dropped(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_wait_s=0.0)
    for partition in (0, 1, 0, 2):
        batcher.put(block([partition * 10, partition * 10 + 1], partition=partition, arrived_s=clock.now_s))
    assert batcher.drop(lambda records: records.partition == 0) == 4
    assert (batcher.n_records, batcher.n_bytes) == (4, 40)
    (batch,) = taken(batcher)
    assert content(batch) == [(1, 10), (1, 11), (2, 20), (2, 21)]
    assert batcher.drop(lambda _: True) == 0


def test_dropping_the_first_record_ends_its_wait(block: MAKE, clock: Any) -> None:
    batcher = make_batcher()
    batcher.put(block([0], arrived_s=clock.now_s))
    clock.now_s += 0.5
    batcher.put(block([0], partition=1, arrived_s=clock.now_s))
    batcher.drop(lambda records: records.partition == 0)
    assert batcher.due_in_s() == pytest.approx(1.0)


def in_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """Run `work` in a thread; the result waits for it."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(20)
        return results[0]

    return result


@pytest.mark.parametrize("how", ["take", "drop", "close"])
def test_room_is_waited_for_and_told_of(block: MAKE, how: str) -> None:
    batcher = make_batcher(max_size=10, max_records=10, max_wait_s=0.0)
    batcher.put(block(range(10)))
    assert batcher.wait_for_room(0) is False
    waiting = in_thread(lambda: batcher.wait_for_room(30))
    {"take": batcher.take, "drop": lambda: batcher.drop(lambda _: True), "close": batcher.close}[how]()
    assert waiting() is True


def test_a_batch_that_is_out_is_waited_for(block: MAKE) -> None:
    batcher = make_batcher(max_wait_s=0.0)
    assert batcher.wait_for_batch(0) is True
    batcher.put(block([0]))
    batcher.take()
    assert batcher.wait_for_batch(0) is False
    waiting = in_thread(lambda: batcher.wait_for_batch(30))
    batcher.done()
    assert waiting() is True


def test_a_closed_batcher_gives_nothing_out(block: MAKE) -> None:
    batcher = make_batcher(max_wait_s=0.0)
    batcher.put(block([0]))
    batcher.close()
    assert batcher.take() is None
    assert batcher.due_in_s() == float("inf")
    assert batcher.n_records == 1


def test_b02_an_event_that_cannot_be_priced_goes_alone_and_ends_nobody(block: MAKE, clock: Any) -> None:
    def price(event: int) -> int:
        if event == 1:
            raise ValueError("no tokens")
        return 1

    batcher = make_batcher(max_wait_s=0.0, cost_limit=10, cost=price)
    batcher.put(block(range(4), events=[0, 1, 2, 3], arrived_s=clock.now_s))
    assert [batch.parts[0].events for batch in taken(batcher)] == [[0], [1], [2, 3]]


def test_b24_a_batch_that_costs_enough_does_not_wait_for_more(block: MAKE, clock: Any) -> None:
    batcher = make_batcher(max_wait_s=1_000.0, cost_limit=10, cost=lambda event: event)
    batcher.put(block(range(2), events=[4, 4], arrived_s=clock.now_s))
    assert batcher.due_in_s() > 0
    batcher.put(block(range(2, 3), events=[4], arrived_s=clock.now_s))
    assert batcher.due_in_s() == 0
