"""The transactional sink: everything of a block is seen at once, with its offset, or nothing is."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, Fenced
from pelton.schemas.codes import Code
from pelton.schemas.rejection import TOMBSTONE, Rejection

MAKE = Callable[..., Any]
BAD = Rejection(Code.INVALID, "x: Expected `float`, got `str`", "decode", "msgspec.ValidationError")
LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)


def test_nothing_is_seen_before_the_commit_and_everything_after_it(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.notes = {("events", 0): "note"}
    first, second = records([10, 11]), records([5, 6], partition=1)
    road.sink.write(first, [0.25, BAD])
    road.sink.write(second, [0.5, TOMBSTONE])
    road.kafka.producers[0].flush()
    assert (road.scores, road.dead, road.committed, road.sink.settled()) == ([], [], {}, [])
    assert (road.sink.in_flight, road.sink.written.is_set()) == (3, True)
    assert road.sink.commit(Deadline.after(5))
    assert road.scores == [(10, 0.25), (5, 0.5)]
    assert road.dead == [(11, "invalid")]
    assert road.committed == {0: 12, 1: 7}
    assert road.kafka.committed("g", ("events", 0)).metadata == "note"
    safe = road.sink.settled()
    assert [block.records for block in safe] == [first, second]
    assert [(block.refused, block.tombstones) for block in safe] == [({Code.INVALID: 1}, 0), ({}, 1)]
    assert (road.sink.in_flight, road.sink.written.is_set(), road.sink.settled()) == (0, False, [])
    assert road.ended == ["committed"]


def test_b21_a_transaction_begins_with_the_first_output_and_not_before(exact: MAKE, records: MAKE) -> None:
    road = exact()
    assert road.calls == ["init_transactions"]
    road.sink.write(records([0]), [1.0])
    road.sink.write(records([1]), [1.0])
    assert road.calls == ["init_transactions", "begin_transaction"]
    road.commit()
    assert road.calls[2:] == ["send_offsets_to_transaction", "commit_transaction"]
    road.commit()
    assert len(road.calls) == 4, "an empty transaction is never begun"


def test_b21_a_block_of_tombstones_alone_still_commits_its_offset(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([3, 4], values=[None, None]), [TOMBSTONE, TOMBSTONE])
    assert road.calls == ["init_transactions"], "nothing is open while there is nothing to send"
    assert road.commit() == [[3, 4]]
    assert (road.scores, road.committed) == ([], {0: 5})


def test_b20_offsets_go_in_the_name_of_the_member_that_was_told_never_in_a_fresh_one(
    exact: MAKE, records: MAKE
) -> None:
    """Metadata fetched at the commit let a worker commit a partition that had moved."""
    road = exact()
    road.sink.write(records([0]), [1.0])
    road.kafka.groups.move("g")
    asked = road.consumer.consumer_group_metadata
    road.consumer.consumer_group_metadata = lambda: pytest.fail("metadata were fetched for a commit")
    assert road.commit(3) == []
    assert (road.scores, road.committed) == ([], {})
    road.consumer.consumer_group_metadata = asked
    road.tell_member()
    assert road.commit(3) == [[0]]
    assert (road.scores, road.committed) == ([(0, 1.0)], {0: 1})


def test_a_large_block_is_committed_in_pieces_that_fit_the_window(exact: MAKE, records: MAKE) -> None:
    road = exact(max_in_flight=4)
    writer = threading.Thread(target=road.sink.write, args=(records(range(10)), [0.5] * 10), daemon=True)
    writer.start()
    settled: list[list[int]] = []
    deadline = Deadline.after(20)
    while sum(map(len, settled)) < 10 and not deadline.expired:
        road.sink.hurry.wait(0.05)
        settled += road.commit()
        assert road.sink.in_flight <= 4
    writer.join(20)
    assert settled == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert (road.scores, road.committed) == ([(n, 0.5) for n in range(10)], {0: 10})


def test_b46_a_full_window_holds_the_writer_back_and_hurries_the_commit(exact: MAKE, records: MAKE) -> None:
    road = exact(max_in_flight=2)
    road.sink.write(records([0, 1]), [0.5, 0.5])
    assert not road.sink.hurry.is_set()
    writer = threading.Thread(target=road.sink.write, args=(records([2]), [0.5]), daemon=True)
    writer.start()
    assert road.sink.hurry.wait(20)
    assert road.sink.in_flight == 2
    road.commit()
    writer.join(20)
    assert not writer.is_alive()
    assert road.sink.in_flight == 1
    assert road.commit() == [[2]]


def test_b46_bytes_hold_the_writer_back_as_well(exact: MAKE, records: MAKE) -> None:
    road = exact(max_in_flight_bytes=100)
    road.sink.write(records([0, 1]), [0.5, 0.5])
    writer = threading.Thread(target=road.sink.write, args=(records([2]), [0.5]), daemon=True)
    writer.start()
    assert road.sink.hurry.wait(20)
    assert writer.is_alive()
    road.commit()
    writer.join(20)
    assert not writer.is_alive()


def test_a_writer_that_waits_for_room_hears_at_once_why_there_will_be_none(exact: MAKE, records: MAKE) -> None:
    road = exact(max_in_flight=1)
    road.sink.write(records([0]), [0.5])
    heard: list[BaseException] = []

    def write() -> None:
        try:
            road.sink.write(records([1]), [0.5])
        except Fenced as error:
            heard.append(error)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert road.sink.hurry.wait(20)
    road.rival()
    with pytest.raises(Fenced):
        road.commit()
    writer.join(20)
    assert len(heard) == 1


def test_a_closed_sink_has_aborted_what_was_open_and_commits_no_more(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.producers[0].flush()
    road.sink.close()
    assert road.calls[-1] == "abort_transaction"
    assert road.sink.commit(Deadline.after(5))
    assert (road.scores, road.committed, road.sink.closed) == ([], {}, True)
    assert road.sink.settled() == []
    assert not road.kafka.coordinator.pending("g", ("events", 0))


def test_a_sink_is_closed_in_time_though_no_broker_is_there_to_abort(
    exact: MAKE, records: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.producers.exact_sink.CLOSE_S", 0.02)
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.reachable = False
    road.sink.close()
    assert road.sink.closed
    road.kafka.reachable = True
    successor = road.rival()
    assert (successor is not None, road.scores, road.committed) == (True, [], {})


def test_a_flush_commits_and_ends_by_its_deadline_or_when_the_group_has_moved_on(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.fail("commit_transaction", LATE, LATE)
    assert road.sink.flush(Deadline.after(5))
    road.sink.write(records([1]), [0.5])
    road.kafka.reachable = False
    assert not road.sink.flush(Deadline.after(0.05))
    road.kafka.reachable = True
    road.kafka.groups.move("g")
    assert not road.sink.flush(Deadline.after(60)), "no end of waiting would help before the next poll"
    assert (road.scores, road.committed) == ([(0, 0.5)], {0: 1})


def slow_commits(road: Any) -> tuple[threading.Event, threading.Event]:
    """Let each commit say that it was asked for, and wait until it is answered."""
    asked, answer = threading.Event(), threading.Event()
    commit = road.kafka.producers[0].commit_transaction

    def slow(timeout: float) -> None:
        asked.set()
        assert answer.wait(20)
        commit(timeout)

    road.kafka.producers[0].commit_transaction = slow
    return asked, answer


def test_whoever_writes_does_not_wait_for_a_commit_and_is_in_the_next(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    asked, answer = slow_commits(road)
    committing = threading.Thread(target=road.sink.commit, args=(Deadline.after(20),), daemon=True)
    committing.start()
    assert asked.wait(20)
    writing = threading.Thread(target=road.sink.write, args=(records([1]), [1.5]), daemon=True)
    writing.start()
    writing.join(20)
    assert not writing.is_alive(), "the commit is not answered yet"
    assert road.calls.count("begin_transaction") == 1
    answer.set()
    committing.join(20)
    assert (road.scores, road.committed) == ([(0, 0.5)], {0: 1})
    assert road.sink.written.is_set(), "what was written meanwhile is still to be committed"
    road.commit()
    assert (road.scores, road.committed) == ([(0, 0.5), (1, 1.5)], {0: 2})


def test_b20_a_commit_in_another_thread_is_waited_for_and_no_longer_than_the_deadline(
    exact: MAKE, records: MAKE
) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    asked, answer = slow_commits(road)
    other = threading.Thread(target=road.sink.commit, args=(Deadline.after(20),), daemon=True)
    other.start()
    assert asked.wait(20)
    assert not road.sink.commit(Deadline.after(0.01))
    flushed: list[bool] = []
    revoking = threading.Thread(target=lambda: flushed.append(road.sink.flush(Deadline.after(20))), daemon=True)
    revoking.start()
    answer.set()
    revoking.join(20)
    other.join(20)
    assert flushed == [True]
    assert (road.scores, road.committed) == ([(0, 0.5)], {0: 1})


def test_the_oldest_uncommitted_block_tells_its_age(exact: MAKE, records: MAKE) -> None:
    road = exact()
    assert road.sink.waiting_s() == 0.0
    road.sink.write(records([0]), [0.5])
    road.sink.write(records([1]), [0.5])
    assert road.sink.waiting_s() > 0
    road.commit()
    assert road.sink.waiting_s() == 0.0


def test_b21_an_id_that_is_not_given_in_time_can_be_asked_for_again(exact: MAKE, records: MAKE) -> None:
    road = exact(start=False)
    road.kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        road.sink.start(Deadline.after(0.01))
    road.kafka.reachable = True
    asked = len(road.calls)
    road.sink.start(Deadline.after(5))
    road.sink.start(Deadline.after(5))
    assert len(road.calls) == asked + 1
    road.sink.write(records([0]), [0.5])
    assert road.commit() == [[0]]


def test_b52_a_sink_says_whether_both_of_its_topics_can_be_reached(exact: MAKE) -> None:
    road = exact()
    road.sink.reach(1.0)
    road.kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        road.sink.reach(1.0)
