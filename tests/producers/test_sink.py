"""The sink: what is safe is told once, what is refused ends as one dead letter or ends the worker."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, KafkaFailure, TopicMissing
from pelton.schemas.codes import Code
from pelton.schemas.rejection import TOMBSTONE, Rejection

MAKE = Callable[..., Any]
INVALID = KafkaError(KafkaError.INVALID_RECORD, "Broker: Broker failed to validate record")
NO_REPLICAS = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "Broker: Not enough in-sync replicas")
BAD = Rejection(Code.INVALID, "x: Expected `float`, got `str`", "decode", "msgspec.ValidationError")


def offset_in(message: Message) -> int | None:
    """The source offset in a score; None for a dead letter."""
    value = message.value()
    found = value.partition(b'"offset":')[2].partition(b"}")[0] if message.topic() == "scores" and value else b""
    return int(found) if found else None


def refusing(error: KafkaError, *offsets: int) -> Callable[[Message], KafkaError | None]:
    return lambda message: error if offset_in(message) in offsets else None


def test_scores_are_safe_once_the_broker_has_them(rig: MAKE, records: MAKE) -> None:
    road = rig()
    block = records([10, 11, 12])
    road.sink.write(block, [0.25, 0.5, 0.75])
    assert (road.sink.in_flight, road.scores) == (3, [])
    (safe,) = road.sink.settled()
    assert safe.records is block
    assert (safe.refused, safe.tombstones) == ({}, 0)
    assert road.scores == [(10, 0.25), (11, 0.5), (12, 0.75)]
    assert road.sink.in_flight == 0
    assert road.sink.settled() == []


def test_b02_seven_scores_and_one_dead_letter(rig: MAKE, records: MAKE) -> None:
    road = rig()
    outcomes: list[Any] = [float(n) for n in range(8)]
    outcomes[5] = BAD
    road.sink.write(records(range(8)), outcomes)
    (safe,) = road.settle()
    assert road.scores == [(n, float(n)) for n in (0, 1, 2, 3, 4, 6, 7)]
    assert road.dead == [(5, "invalid")]
    assert safe.refused == {Code.INVALID: 1}


def test_b08_nothing_is_safe_while_no_broker_answers(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.reachable = False
    road.sink.write(records([0, 1]), [1.0, 2.0])
    assert road.settle(5) == []
    assert road.sink.waiting_s() > 0
    assert not road.sink.flush(Deadline.after(0))
    road.kafka.reachable = True
    assert road.sink.flush(Deadline.after(20))
    assert [block.records.offsets for block in road.sink.settled()] == [[0, 1]]
    assert road.sink.waiting_s() == 0.0


def test_b08_a_refused_delivery_ends_the_worker_and_nothing_of_it_is_safe(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.refuse = refusing(NO_REPLICAS, 1)
    road.sink.write(records([0, 1, 2]), [0.0, 1.0, 2.0])
    with pytest.raises(BrokerUnavailable, match="in-sync"):
        road.settle()
    with pytest.raises(BrokerUnavailable):
        road.sink.write(records([3]), [3.0])
    road.kafka.refuse = lambda _: None
    with pytest.raises(BrokerUnavailable):
        road.sink.settled()
    assert road.dead == []


def test_b08_a_record_the_broker_never_takes_is_one_dead_letter_and_its_neighbours_are_scored(
    rig: MAKE, records: MAKE
) -> None:
    road = rig()
    road.kafka.refuse = refusing(INVALID, 4)
    first, second = records([0, 1, 2]), records([3, 4, 5])
    road.sink.write(first, [0.0, 1.0, 2.0])
    road.sink.write(second, [3.0, 4.0, 5.0])
    safe = road.settle()
    assert sorted(set(road.scores)) == [(n, float(n)) for n in (0, 1, 2, 3, 5)]
    assert road.dead == [(4, "invalid")]
    assert [block.records.offsets for block in safe] == [[0, 1, 2], [3, 4, 5]]
    assert [block.refused for block in safe] == [{}, {Code.INVALID: 1}]


def test_b08_every_broken_gap_is_answered_by_one_resend_of_all_that_waits(rig: MAKE, records: MAKE) -> None:
    """The fast manner hears of the last message of a call only: a fault before it must not pass unseen."""
    road = rig()
    once = iter([INVALID])
    road.kafka.refuse = lambda message: next(once, None) if offset_in(message) == 0 else None
    for n in range(0, 9, 3):
        road.sink.write(records([n, n + 1, n + 2]), [0.5, 0.5, 0.5])
    safe = road.settle()
    assert [block.records.offsets for block in safe] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert [offset for offset, _ in road.scores] == list(range(9))
    assert road.dead == []
    assert len(road.kafka.producers) == 2


OUT_OF_ORDER = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "out of order", fatal=True)


def test_b08_a_producer_that_fails_for_good_is_replaced_and_nothing_is_lost(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.sink.write(records([0, 1]), [0.0, 1.0])
    road.kafka.producers[0].break_down(OUT_OF_ORDER)
    assert [block.records.offsets for block in road.settle()] == [[0, 1]]
    assert road.scores == [(0, 0.0), (1, 1.0)]
    assert len(road.kafka.producers) == 2


def test_b08_a_producer_whose_replacement_fails_as_well_ends_the_worker(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.sink.write(records([0, 1]), [0.0, 1.0])
    road.kafka.producers[0].break_down(OUT_OF_ORDER)
    assert road.sink.settled() == []
    road.kafka.producers[1].break_down(OUT_OF_ORDER)
    with pytest.raises(KafkaFailure, match="out of order"):
        road.settle()
    assert len(road.kafka.producers) == 2


def test_b08_errors_of_a_producer_that_was_replaced_are_not_heard(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.producers[0].break_down(KafkaError(KafkaError._GAPLESS_GUARANTEE, "gap", fatal=True))
    road.sink.write(records([0]), [0.0])
    road.settle()
    road.kafka.producers[0].config["error_cb"](KafkaError(KafkaError._FATAL, "late", fatal=True))
    road.sink.write(records([1]), [1.0])
    assert len(road.settle()) == 1


def test_b08_a_passing_error_of_the_connection_is_no_failure(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.producers[0].config["error_cb"](KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    road.sink.write(records([0]), [1.0])
    assert len(road.settle()) == 1


def test_once_the_doubt_is_settled_deliveries_are_fast_again(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.refuse = refusing(INVALID, 0)
    road.sink.write(records([0, 1]), [0.0, 1.0])
    road.settle()
    road.sink.write(records([2]), [2.0])
    road.settle()
    assert ["enable.gapless.guarantee" in producer.config for producer in road.kafka.producers] == [True, False, True]
    assert sorted(set(road.scores)) == [(1, 1.0), (2, 2.0)]


@pytest.mark.parametrize("partition", ["source", "key"])
def test_b28_a_score_beyond_the_producers_limit_is_a_dead_letter_alone(
    rig: MAKE, records: MAKE, partition: str
) -> None:
    road = rig(config={"message.max.bytes": 100_000}, partition=partition)
    scores: list[Any] = [float(n) for n in range(10)]
    scores[3] = "a" * 1_500_000
    road.sink.write(records(range(10)), scores)
    (safe,) = road.settle()
    assert sorted(set(road.scores)) == [(n, float(n)) for n in range(10) if n != 3]
    assert road.dead == [(3, "too_large")]
    assert safe.refused == {Code.TOO_LARGE: 1}
    (dead,) = road.kafka.read("dead")
    assert (dead.key(), dead.value()) == (b"k3", b'{"id":"e3"}')
    reason = dict(dead.headers())["__connect.errors.exception.message"].decode()
    assert "1500" in reason
    assert "scores" in reason or "sink" in reason


@pytest.mark.parametrize("partition", ["source", "key"])
def test_b28_a_score_beyond_the_topics_limit_is_a_dead_letter_alone(rig: MAKE, records: MAKE, partition: str) -> None:
    """A broker refuses the whole batch that a score travels in: its neighbours are sent again without it."""
    road = rig(partition=partition)
    road.kafka.max_bytes["scores"] = 5_000
    scores: list[Any] = [float(n) for n in range(10)]
    scores[6] = "b" * 8_000
    road.sink.write(records(range(10)), scores)
    (safe,) = road.settle()
    assert sorted(set(road.scores)) == [(n, float(n)) for n in range(10) if n != 6]
    assert road.dead == [(6, "too_large")]
    assert safe.refused == {Code.TOO_LARGE: 1}


def test_b28_scores_that_are_only_too_large_together_all_arrive(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.max_bytes["scores"] = 1_000
    road.sink.write(records(range(50)), [float(n) for n in range(50)])
    (safe,) = road.settle()
    assert road.scores == [(n, float(n)) for n in range(50)]
    assert (road.dead, safe.refused) == ([], {})


def test_b28_a_record_too_large_for_the_dead_letter_topic_arrives_cut(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.max_bytes["dead"] = 30_000
    text = bytes(range(256)) * 400
    road.sink.write(records([0, 1], values=[text, b"{}"]), [BAD, 1.0])
    (safe,) = road.settle()
    assert (road.scores, road.dead) == ([(1, 1.0)], [(0, "invalid")])
    assert road.kafka.read("dead")[0].value() == text[:16_384]
    assert safe.refused == {Code.INVALID: 1}


def test_b11_tombstones_are_skipped_and_counted(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.sink.write(records([0, 1, 2], values=[b"{}", None, None]), [0.5, TOMBSTONE, TOMBSTONE])
    assert road.sink.in_flight == 1
    road.sink.write(records([3], values=[None]), [TOMBSTONE])
    safe = road.settle()
    assert [(block.records.offsets, block.tombstones) for block in safe] == [([3], 1), ([0, 1, 2], 2)]
    assert road.scores == [(0, 0.5)]
    assert road.dead == []


def test_b11_tombstones_are_passed_on_in_their_place(rig: MAKE, records: MAKE) -> None:
    road = rig(key="input-key", tombstones="pass")
    keys = [b"k", b"k", b"k", b"\x00\xff"]
    road.sink.write(records(range(4), keys=keys), [1.0, TOMBSTONE, 2.0, TOMBSTONE])
    (safe,) = road.settle()
    found = [(message.key(), message.value() is None) for message in road.kafka.read("scores")]
    assert found == [(b"k", False), (b"k", True), (b"k", False), (b"\x00\xff", True)]
    assert safe.tombstones == 2


def test_b11_a_tombstone_without_a_key_does_not_end_the_worker(rig: MAKE, records: MAKE) -> None:
    """A compacted topic refuses every record without a key, and a marker without one marks nothing."""
    road = rig(key="input-key", tombstones="pass")
    road.kafka.refuse = lambda message: INVALID if message.topic() == "scores" and message.key() is None else None
    keys = [b"k", None, None]
    road.sink.write(records(range(3), keys=keys, values=[b"{}", None, b"{}"]), [1.0, TOMBSTONE, 2.0])
    (safe,) = road.settle()
    assert sorted(set(road.scores)) == [(0, 1.0)]
    assert road.dead == [(2, "invalid")]
    assert (safe.tombstones, safe.refused) == (1, {Code.INVALID: 1})


@pytest.mark.parametrize("size", [64, 256])
def test_b46_a_small_queue_holds_ten_thousand_scores_back_and_loses_none(rig: MAKE, records: MAKE, size: int) -> None:
    road = rig(max_in_flight=99, config={"queue.buffering.max.messages": 100})
    safe = []
    for first in range(0, 10_000, size):
        offsets = range(first, min(first + size, 10_000))
        road.sink.write(records(offsets), [0.5] * len(offsets))
        assert road.sink.in_flight <= 99
        safe += road.sink.settled() if first % 1000 == 0 else []
    safe += road.settle()
    assert [offset for offset, _ in road.scores] == list(range(10_000))
    assert [offset for block in safe for offset in block.records.offsets] == list(range(10_000))
    assert len(road.kafka.producers) == 1


@pytest.mark.parametrize("outcome", [0.5, BAD])
def test_b46_scores_are_held_back_by_their_bytes_as_well(rig: MAKE, records: MAKE, outcome: Any) -> None:
    road = rig(max_in_flight_bytes=500)
    seen = []
    for first in range(0, 1_000, 100):
        road.sink.write(records(range(first, first + 100)), [outcome] * 100)
        seen.append(road.sink.in_flight)
    road.settle()
    assert [offset for offset, _ in road.scores + road.dead] == list(range(1_000))
    assert max(seen) == 100, "each block weighs more than 500 bytes, so one is on its way at a time"


def test_b46_dead_letters_wait_for_room_as_scores_do(rig: MAKE, records: MAKE) -> None:
    road = rig(max_in_flight=100, config={"queue.buffering.max.messages": 100})
    for first in range(0, 1_000, 100):
        road.sink.write(records(range(first, first + 100)), [BAD] * 100)
    road.settle()
    assert [offset for offset, _ in road.dead] == list(range(1_000))


def test_b46_a_refused_score_finds_room_for_its_dead_letter_in_a_full_queue(rig: MAKE, records: MAKE) -> None:
    road = rig(max_in_flight=99, config={"queue.buffering.max.messages": 100})
    road.kafka.refuse = refusing(INVALID, *range(0, 99, 7))
    road.sink.write(records(range(99)), [0.5] * 99)
    (safe,) = road.settle()
    assert sorted(offset for offset, _ in road.dead) == list(range(0, 99, 7))
    assert sorted({offset for offset, _ in road.scores}) == [n for n in range(99) if n % 7]
    assert safe.refused == {Code.INVALID: 15}


def test_b46_a_writer_that_waits_for_room_does_not_keep_others_from_looking(rig: MAKE, records: MAKE) -> None:
    """Two threads use the sink. The one that waits for a broker must not hold up the one that polls."""
    road = rig(max_in_flight=10)
    road.kafka.reachable = False
    road.sink.write(records(range(10)), [0.5] * 10)
    writer = threading.Thread(target=road.sink.write, args=(records([10]), [0.5]), daemon=True)
    writer.start()
    looked = threading.Event()

    def look() -> None:
        for _ in range(20):
            road.sink.settled()
        looked.set()

    threading.Thread(target=look, daemon=True).start()
    assert looked.wait(5)
    assert writer.is_alive()
    road.kafka.reachable = True
    writer.join(20)
    assert not writer.is_alive()
    assert [block.records.offsets for block in road.settle()] == [list(range(10)), [10]]


def test_blocks_become_safe_each_for_itself(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.stalled = {("scores", 1)}
    road.sink.write(records([0, 1], partition=1), [0.0, 1.0])
    road.sink.write(records([0, 1], partition=2), [0.0, 1.0])
    assert [block.records.partition for block in road.settle(3)] == [2]
    road.kafka.stalled.clear()
    assert [block.records.partition for block in road.settle()] == [1]


def test_what_is_given_up_at_the_end_is_never_called_safe(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.reachable = False
    road.sink.write(records([0]), [1.0])
    road.sink.close()
    road.kafka.reachable = True
    assert road.settle() == []
    assert road.scores == []


def test_b52_a_sink_says_whether_both_of_its_topics_can_be_reached(rig: MAKE) -> None:
    road = rig()
    road.sink.reach(1.0)
    for topic in ("scores", "dead"):
        partitions = road.kafka.topics.pop(topic)
        with pytest.raises(TopicMissing, match="Unknown topic"):
            road.sink.reach(1.0)
        road.kafka.topics[topic] = partitions
    road.kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        road.sink.reach(1.0)
