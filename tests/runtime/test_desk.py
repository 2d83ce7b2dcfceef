"""The road of a request, from its topic to its caller and the committed offset; only Kafka is a fake."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from pelton.consumers.intake import Flow

MAKE = Callable[..., Any]
NO_REPLICAS = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "Broker: Not enough in-sync replicas")
HIDDEN = "the model failed on this input"
LATE = "the deadline passed before there was an answer"


def test_one_event_is_answered_by_a_score_and_a_list_by_a_list(desk: MAKE) -> None:
    road = desk()
    road.ask(2.5, "one", to=1)
    road.ask([1, 2, 3], "three", to=0)
    road.ask([4], "list", at=1, to=0)
    road.walk()
    road.commit()
    assert sorted(road.answers()) == [("list", "ok", [8.0]), ("one", "ok", 5.0), ("three", "ok", [2.0, 4.0, 6.0])]
    assert [name for name, _ in road.replies()][-1] == "one"  # in partition 1
    assert [road.committed(n) for n in (0, 1)] == [2, 1]
    assert (road.metric("answers_total"), road.metric("replies_total")) == ({"ok": 3.0}, {"delivered": 3.0})
    assert road.metric("batch_wait_seconds_count") == {"requests": 1.0}
    assert road.metric("reply_seconds_count") == {"": 1.0}
    assert road.metric("batch_size_count") == {"requests": 1.0}
    assert road.metric("batch_fill_ratio_sum") == {"requests": 3 / 256}
    assert sum(road.metric("batches_total").values()) == 1.0


def test_an_answer_says_what_to_quote(desk: MAKE) -> None:
    road = desk()
    parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    headers = [("kafka_correlationId", b"\xff\x00"), ("kafka_replyTopic", b"answers"), ("traceparent", parent)]
    road.kafka.write("asked", b'{"inputs":{"x":1}}', headers=headers)
    road.walk()
    (message,) = road.kafka.read("answers")
    assert message.headers() == [("kafka_correlationId", b"\xff\x00"), ("traceparent", parent)]
    assert json.loads(message.value()) == {"code": "ok", "data": 2.0, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (b"not json", "malformed", "not JSON"),
        (b"", "malformed", "empty"),
        (b'{"inputs":{"x":"abc"}}', "invalid", "inputs: x: "),
        (b'{"inputs":[{"x":1},{"y":1}]}', "invalid", "inputs[1]: "),
        (b'{"inputs":{"x":NaN}}', "not_finite", "x: "),
        (b'{"inputs":{"x":1e39}}', "not_finite", ""),  # beyond the model's dtype
        (b'{"inputs":[{"x":1},{"x":1},{"x":1}]}', "too_large", "3 events"),
        (b'{"inputs":{"x":1},"model":"other"}', "unknown_model", "'other'"),
        (b'{"inputs":{"x":1},"model":"%s"}' % (b"a" * 5000), "unknown_model", "aaa"),
        (b'{"inputs":{"x":1,"a\\nb":NaN}}', "not_finite", "inputs.a b:"),
    ],
)
def test_b02_b12_what_cannot_be_scored_is_told_why_and_harms_no_neighbour(
    desk: MAKE, value: bytes, code: str, words: str
) -> None:
    road = desk(requests={"max_inputs": 2})
    road.ask(1, "before")
    road.ask(value, "bad")
    road.ask(3, "after")
    road.walk()
    road.commit()
    found = {name: (code, told) for name, code, told in road.answers()}
    assert (found["before"], found["after"]) == (("ok", 2.0), ("ok", 6.0))
    assert found["bad"][0] == code
    assert words in found["bad"][1]
    assert len(found["bad"][1]) <= 500
    assert road.committed() == 3
    assert road.metric("answers_total") == {"ok": 2.0, code: 1.0}


@pytest.mark.parametrize("model", ["doubler", "doubler@1"])
def test_the_model_may_be_asked_for_by_name_and_version(desk: MAKE, model: str) -> None:
    road = desk()
    road.ask(1, model=model)
    road.walk()
    assert road.answers() == [("a", "ok", 2.0)]


@pytest.mark.parametrize("stage", ["prepare", "forward", "finish"])
def test_b02_a_request_the_model_raises_on_is_told_nothing_of_its_inside(desk: MAKE, stage: str) -> None:
    road = desk("raiser")
    for n in range(8):
        road.ask([{"x": n}, {"x": n, "mark": stage} if n == 5 else {"x": -n}], f"{n}")
    road.walk()
    road.commit()
    expected = [(f"{n}", "ok", [2.0 * n, -2.0 * n]) for n in range(8)]
    expected[5] = ("5", "model_error", f"inputs[1]: {HIDDEN}")
    assert sorted(road.answers()) == expected
    assert road.committed() == 8
    assert road.metric("answers_total") == {"ok": 7.0, "model_error": 1.0}


def test_b12_a_score_that_is_not_finite_is_no_answer(desk: MAKE) -> None:
    road = desk("nan-giver")
    road.ask({"x": 1, "give": "nan"}, "nan")
    road.ask({"x": 2}, "good")
    road.walk()
    assert sorted(road.answers()) == [("good", "ok", 4.0), ("nan", "model_error", HIDDEN)]


def test_b24_requests_with_many_events_fill_batches_by_their_events(desk: MAKE) -> None:
    road = desk(batch={"max_size": 32}, queue={"max_records": 400})
    for n in range(11):
        road.ask([100 * n + row for row in range(32)], f"{n}")
    road.ask(list(range(100)), "large")
    road.walk()
    expected = {f"{n}": [2.0 * (100 * n + row) for row in range(32)] for n in range(11)}
    expected["large"] = [2.0 * row for row in range(100)]
    assert {name: data for name, _, data in road.answers()} == expected
    assert max(road.model.batches) == 32
    assert road.scored == 11 * 32 + 100


def test_what_is_too_late_when_it_comes_never_reaches_the_model(desk: MAKE) -> None:
    road = desk(requests={"clock_skew_s": 1})
    road.ask(1, "late", within_s=-1.5)
    road.ask(2, "in time", within_s=-0.5)
    road.turn()
    assert road.desk.batcher.n_records == 1
    road.walk()
    road.commit()
    assert sorted(road.answers()) == [("in time", "ok", 4.0), ("late", "expired", LATE)]
    assert (road.scored, road.committed()) == (1, 2)


def test_what_became_too_late_in_the_queue_never_reaches_the_model(desk: MAKE) -> None:
    road = desk()
    road.ask(1, "short", within_s=5)
    road.ask(2, "long", within_s=50)
    road.turn()
    road.clock.ahead_s += 20
    road.walk()
    road.commit()
    assert sorted(road.answers()) == [("long", "ok", 4.0), ("short", "expired", LATE)]
    assert (road.model.batches, road.committed()) == ([1], 2)
    assert road.metric("answers_total") == {"ok": 1.0, "expired": 1.0}


def test_what_became_too_late_in_the_model_is_told_so(desk: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    road = desk()
    forward = road.model.forward

    def slow(inputs: Any) -> Any:
        road.clock.ahead_s += 20
        return forward(inputs)

    monkeypatch.setattr(road.model, "forward", slow)
    road.ask(1, within_s=5)
    road.walk()
    road.commit()
    assert road.answers() == [("a", "expired", LATE)]
    assert road.committed() == 1


def test_a_cancelled_request_never_reaches_the_model(desk: MAKE) -> None:
    road = desk()
    road.ask(1, "a")
    road.ask(2, "b")
    road.cancel("a")
    road.cancel("a")
    road.walk()
    road.commit()
    assert sorted((name, code) for name, code, _ in road.answers()) == [("a", "cancelled"), ("b", "ok")]
    assert (road.model.batches, road.committed()) == ([1], 4)
    assert road.metric("cancels_total") == {"": 1.0}
    assert road.metric("answers_total") == {"ok": 1.0, "cancelled": 1.0}


@pytest.mark.parametrize(
    "foreign", [{"to": 1}, {"topic": "team-a"}, {"topic": None, "to": None}, {"at": 1}, {"name": "b"}]
)
def test_only_its_own_caller_takes_a_request_back(desk: MAKE, foreign: dict[str, Any]) -> None:
    road = desk()
    road.ask(1)
    road.cancel(**foreign)
    road.walk()
    assert road.answers() == [("a", "ok", 2.0)]
    assert road.metric("cancels_total") == {}


def test_a_cancel_that_comes_too_late_changes_nothing(desk: MAKE) -> None:
    road = desk()
    road.ask(1)
    road.walk()
    road.cancel()
    road.walk()
    road.commit()
    assert road.answers() == [("a", "ok", 2.0)]
    assert (road.metric("cancels_total"), road.committed()) == ({}, 2)


def test_a_forbidden_reply_topic_is_neither_scored_nor_answered(desk: MAKE) -> None:
    road = desk()
    for name, topic in (("in", "in"), ("odd", "team-\x00"), ("good", "answers")):
        road.ask(1, name, topic=topic)
    road.walk()
    road.commit()
    assert (road.answers(), road.kafka.read("in")) == ([("good", "ok", 2.0)], [])
    assert (road.scored, road.committed()) == (1, 3)
    assert road.metric("replies_total") == {"forbidden": 2.0, "delivered": 1.0}


def test_without_a_reply_topic_it_is_scored_and_counted(desk: MAKE) -> None:
    road = desk()
    road.ask(1, topic=None, to=None)
    road.ask(b"bad", "b", topic=None)
    road.walk()
    road.commit()
    assert (road.scored, road.committed(), road.answers()) == (1, 2, [])
    assert road.metric("answers_total") == {"ok": 1.0, "malformed": 1.0}
    assert road.metric("replies_total") == {}


@pytest.mark.parametrize("where", [{"topic": "team-z"}, {"to": 2}, {"topic": "team-a", "to": 1}])
def test_an_answer_to_a_topic_or_partition_that_is_not_there_is_counted_and_over(
    desk: MAKE, where: dict[str, Any]
) -> None:
    road = desk()
    road.ask(1, "nowhere", **where)
    road.ask(2, "here")
    road.walk()
    road.commit()
    assert road.answers() == [("here", "ok", 4.0)]
    assert road.metric("replies_total") == {"no_topic": 1.0, "delivered": 1.0}
    assert road.committed() == 2


def test_b08_a_failed_delivery_is_counted_and_harms_nothing_else(desk: MAKE) -> None:
    road = desk(kafka={"batch.num.messages": 1})
    road.kafka.refuse = lambda message: NO_REPLICAS if b"4.0" in (message.value() or b"") else None
    for n in range(4):
        road.ask(n, f"{n}")
    road.walk()
    road.commit()
    assert [name for name, _, _ in road.answers()] == ["0", "1", "3"]
    assert road.metric("replies_total") == {"delivered": 3.0, "failed": 1.0}
    assert road.committed() == 4


def test_b04_an_offset_is_committed_once_its_answer_and_all_before_it_are_delivered(desk: MAKE) -> None:
    road = desk()
    road.kafka.stalled = {("answers", 1)}
    for name, to in (("first", 0), ("stalled", 1), ("third", 0), ("fourth", 0)):
        road.ask(1, name, to=to)
    road.turn()
    road.commit()
    assert not road.committed()
    road.score()
    for _ in range(3):
        road.turn()
    road.commit()
    assert [name for name, _, _ in road.answers()] == ["first", "third", "fourth"]
    assert (road.desk.sink.in_flight, road.committed()) == (1, 1)
    road.kafka.stalled = set()
    road.turn()
    road.commit()
    assert (road.desk.sink.in_flight, road.committed()) == (0, 4)


def test_b23_polling_pauses_while_too_many_answers_are_on_their_way(
    desk: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.desk.MOST_IN_FLIGHT", 4)
    monkeypatch.setattr("pelton.consumers.intake.PAUSE_AFTER_S", 0.0)
    road = desk()
    road.kafka.stalled = {("answers", 0)}
    for n in range(4):
        road.ask(n, f"{n}")
    road.turn()
    road.score()
    road.ask(4, "4")
    for _ in range(5):
        road.turn()
        road.score()
    assert road.consumer.paused == {("asked", 0), ("asked", 1)}
    assert (road.scored, road.desk.sink.in_flight) == (4, 4)
    road.kafka.stalled = set()
    road.walk(3)
    assert road.consumer.paused == set()
    assert [name for name, _, _ in road.answers()] == ["0", "1", "2", "3", "4"]


def test_b24_a_model_without_a_size_counts_events_where_cost_closes_a_batch(desk: MAKE) -> None:
    road = desk(batch={"max_cost": 3})
    for n in range(6):
        road.ask(n, f"{n}")
    road.walk()
    assert road.model.batches == [3, 3]


def test_b05_the_supervisor_sees_requests_that_wait(desk: MAKE) -> None:
    road = desk()
    road.ask(1)
    road.kafka.stalled = {("answers", 0)}
    road.turn()
    road.score()
    road.turn()
    (records,) = road.desk.offsets._partitions.values()
    assert road.desk.progress.request_beat_s > 0
    assert road.desk.progress.oldest_s == road.desk.progress.oldest_request_s == records.arrivals[0].arrived_s
    road.kafka.stalled = set()
    road.turn()
    assert road.desk.progress.oldest_s == 0


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_answers_are_idempotent_and_no_part_of_a_transaction(desk: MAKE, delivery: str) -> None:
    road = desk(delivery=delivery, kafka={"bootstrap.servers": "b:1"})
    config = road.producer.config
    assert {name: config.get(name) for name in ("enable.idempotence", "acks", "transactional.id")} == {
        "enable.idempotence": True,
        "acks": "all",
        "transactional.id": None,
    }
    member = road.consumer.config
    assert (member["group.id"], member["enable.auto.commit"], member["auto.offset.reset"]) == ("rg", False, "earliest")


def test_a_batch_waits_for_company_but_not_past_the_nearest_deadline(desk: MAKE) -> None:
    road = desk(requests={"max_wait_ms": 60_000, "clock_skew_s": 0})
    road.ask(1, "patient", within_s=600)
    road.turn()
    assert 50 < road.desk.batcher.due_in_s() <= 60
    road.desk.batcher.takes_s = 5.0
    road.ask(2, "urgent", within_s=4.5)
    road.walk()
    assert sorted(road.answers()) == [("patient", "ok", 2.0), ("urgent", "ok", 4.0)]
    assert road.metric("batches_total") == {'requests",reason="deadline': 1.0}


def test_requests_do_not_wait_as_long_as_the_streams_batches_do(desk: MAKE) -> None:
    road = desk(batch={"max_wait_ms": 60_000}, requests={"max_wait_ms": 0})
    road.ask(1)
    road.walk()
    assert road.answers() == [("a", "ok", 2.0)]


def test_small_batches_leave_room_for_many_callers(desk: MAKE) -> None:
    """Partitions that are paused and resumed after every other batch are fetched anew each time."""
    road = desk(batch={"max_size": 1})
    for number in range(64):
        road.ask(number, f"n{number}")
    while road.consumer.position([TopicPartition("asked", 0)])[0].offset < 64:
        road.turn()
    assert (road.desk.batcher.n_records, road.desk.intake.flow) == (64, Flow.FLOWING)
    assert road.desk.batcher.filled < 1
