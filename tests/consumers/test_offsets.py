"""What may be committed: never a record that is not finished, whatever finishes first."""

import random
from collections.abc import Callable

import pytest

from pelton.consumers import offsets as offsets_file
from pelton.consumers.offsets import Offsets
from pelton.schemas.records import Records
from pelton.testing import make_message

MAKE = Callable[..., Records]
AT = ("in", 0)


def test_nothing_may_be_committed_before_something_is_finished(block: MAKE) -> None:
    offsets = Offsets()
    offsets.received(block([10, 11, 12]))
    assert offsets.committable() == {}
    assert offsets.position(AT) is None
    assert offsets.unfinished_in(AT) == 3


def test_b04_the_lowest_unfinished_record_holds_the_commit_back(block: MAKE) -> None:
    offsets = Offsets()
    parts = [block([10]), block([11, 12]), block([13, 14])]
    for part in parts:
        offsets.received(part)
    offsets.finished(parts[2])
    offsets.finished(parts[1])
    assert offsets.committable() == {}
    assert offsets.unfinished_in(AT) == 5
    offsets.finished(parts[0])
    assert offsets.committable() == {AT: 15}
    assert offsets.unfinished_in(AT) == 0


def test_b04_a_block_may_be_finished_in_parts(block: MAKE) -> None:
    offsets = Offsets()
    offsets.received(block([10, 11, 12, 13]))
    offsets.finished(block([12, 13]))
    offsets.finished(block([10]))
    assert offsets.committable() == {AT: 11}
    offsets.finished(block([11]))
    assert offsets.committable() == {AT: 14}


def test_b04_gaps_of_compaction_and_markers_do_not_block(block: MAKE) -> None:
    offsets = Offsets()
    parts = [block([3, 7, 8]), block([20]), block([21, 40])]
    for part in parts:
        offsets.received(part)
    offsets.finished(parts[0])
    assert offsets.committable() == {AT: 9}
    offsets.finished(parts[2])
    assert offsets.committable() == {AT: 9}
    offsets.finished(parts[1])
    assert offsets.committable() == {AT: 41}


@pytest.mark.parametrize("seed", range(10))
def test_b04_in_any_order_the_position_is_that_of_a_slow_and_simple_rule(
    block: MAKE, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(offsets_file, "COMPACT_AT", chance.choice([0, 1, 7, 8192]))
    offsets = Offsets()
    received: list[int] = []
    unfinished: set[int] = set()
    waiting: list[Records] = []
    next_offset = chance.randrange(5)
    for _ in range(150):
        if chance.random() < 0.5:
            new = []
            for _ in range(chance.randrange(1, 6)):
                new.append(next_offset)
                next_offset += chance.choice([1, 1, 1, 4])
            received += new
            unfinished |= set(new)
            offsets.received(block(new))
            waiting.append(block(new))
        elif waiting:
            done = waiting.pop(chance.randrange(len(waiting)))
            if len(done) > 1 and chance.random() < 0.3:
                done, rest = done.split(chance.randrange(1, len(done)))
                waiting.append(rest)
            offsets.finished(done)
            unfinished -= set(done.offsets)
        passed = [offset for offset in received if not unfinished or offset < min(unfinished)]
        assert offsets.position(AT) == (passed[-1] + 1 if passed else None)
        assert offsets.unfinished_in(AT) == len(received) - len(passed)


def test_b07_each_partition_has_its_own_position(block: MAKE) -> None:
    offsets = Offsets()
    parts = [block([300, 301], partition=2), block([200], partition=1), block([100, 101], partition=0)]
    for part in parts:
        offsets.received(part)
        offsets.finished(part)
    assert offsets.committable() == {("in", 2): 302, ("in", 1): 201, ("in", 0): 102}


def test_what_was_handed_to_the_broker_is_not_offered_again_until_it_moves(block: MAKE) -> None:
    offsets = Offsets()
    for first in (0, 10):
        offsets.received(part := block([first]))
        offsets.finished(part)
        assert offsets.committable() == {AT: first + 1}
        offsets.committed(offsets.committable())
        assert offsets.committable() == {}


def test_b19_after_a_refusal_every_position_is_offered_again(block: MAKE) -> None:
    offsets = Offsets()
    for partition in (0, 1):
        offsets.received(part := block([5], partition=partition))
        offsets.finished(part)
    offsets.committed(offsets.committable())
    offsets.commit_again()
    assert offsets.committable() == {("in", 0): 6, ("in", 1): 6}


def test_b07_work_of_an_older_assignment_moves_nothing(block: MAKE) -> None:
    offsets = Offsets()
    old = block([10, 11], epoch=1)
    offsets.received(old)
    offsets.forget([AT])
    offsets.finished(old)
    assert (offsets.committable(), offsets.position(AT), offsets.unfinished_in(AT)) == ({}, None, 0)
    offsets.received(block([10, 11], epoch=2))
    offsets.finished(old)
    assert offsets.committable() == {}
    offsets.finished(block([10], epoch=2))
    assert offsets.committable() == {AT: 11}


def test_b07_records_of_a_new_assignment_begin_anew(block: MAKE) -> None:
    offsets = Offsets()
    offsets.received(block([10, 11], epoch=1))
    offsets.received(again := block([11, 12], epoch=2))
    assert offsets.unfinished_in(AT) == 2
    offsets.finished(again)
    assert offsets.committable() == {AT: 13}


def test_b07_a_partition_that_comes_back_is_offered_even_at_the_position_it_left_with(block: MAKE) -> None:
    offsets = Offsets()
    for epoch in (1, 2):
        offsets.received(part := block([4], epoch=epoch))
        offsets.finished(part)
        assert offsets.committable() == {AT: 5}
        offsets.committed({AT: 5})
        offsets.forget([AT])


def test_the_age_of_the_oldest_record_is_that_of_the_first_not_yet_passed(block: MAKE) -> None:
    offsets = Offsets()
    assert offsets.oldest_unfinished_s() == 0
    first, second = block([1, 2], arrived_s=50.0), block([3], arrived_s=60.0)
    other = block([9], partition=1, arrived_s=55.0)
    for part in (first, second, other):
        offsets.received(part)
    assert offsets.oldest_unfinished_s() == 50.0
    offsets.finished(second)
    assert offsets.oldest_unfinished_s() == 50.0
    offsets.finished(first)
    assert offsets.oldest_unfinished_s() == 55.0
    offsets.finished(other)
    assert offsets.oldest_unfinished_s() == 0
    offsets.received(block([10], partition=1, arrived_s=70.0))
    offsets.forget([("in", 1)])
    assert offsets.oldest_unfinished_s() == 0


def test_long_runs_do_not_grow_without_bound(block: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets_file, "COMPACT_AT", 100)
    tracked = offsets_file.PartitionOffsets(1)
    for first in range(0, 10_000, 10):
        tracked.received(block(range(first, first + 10)))
        tracked.finished(list(range(first, first + 10)))
    assert tracked.position == 10_000
    assert len(tracked.pending) <= 110
    assert (len(tracked.ahead), len(tracked.arrivals)) == (0, 0)


def timed(block: MAKE, offsets: list[int], times_ms: list[int]) -> Records:
    """A block whose records have Kafka timestamps."""
    made = block(offsets)
    made.messages = [
        make_message(b"", offset=n, timestamp_ms=time_ms) for n, time_ms in zip(offsets, times_ms, strict=True)
    ]
    return made


def test_where_a_reader_stands_is_its_first_record_without_an_outcome_and_when_that_was_written(block: MAKE) -> None:
    offsets = Offsets()
    assert offsets.reached_in(AT, None) == (None, 0, None)
    assert offsets.reached_in(AT, 7) == (7, 0, None)
    # Times need not ascend: a producer may stamp what it likes.
    first, second = timed(block, [10, 11, 14], [300, 100, 200]), timed(block, [15, 17], [50, 400])
    offsets.received(first)
    offsets.received(second)
    assert offsets.reached_in(AT, 18) == (10, 5, 300)
    offsets.finished(second)
    assert offsets.reached_in(AT, 18) == (10, 5, 300)
    offsets.finished(first.split(1)[0])
    assert offsets.reached_in(AT, 18) == (11, 4, 100)
    offsets.finished(first.split(1)[1])
    assert offsets.reached_in(AT, None) == (18, 0, None)
    # The consumer's position is noted now and then, and passes what is no record.
    assert offsets.reached_in(AT, 15) == (18, 0, None)
    assert offsets.reached_in(AT, 19) == (19, 0, None)
    offsets.forget([AT])
    assert offsets.reached_in(AT, None) == (None, 0, None)
