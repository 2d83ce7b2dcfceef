"""Events sent and scores read by the everyday tools, beside plain clients of a real Kafka."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from pelton.errors import ClientClosed, InvalidRequest, TopicMissing
from pelton.producers.client import Delivered, EventProducer, ScoreReader

from .outside import Outside

TopicFactory = Callable[..., str]


def test_events_arrive_with_ids_and_keys(brokers: str, topic_factory: TopicFactory, outside: Outside) -> None:
    topic = topic_factory(3)
    with EventProducer(brokers, topic, id_field="id", key_field="card") as producer:
        first = producer.send({"id": "p-1", "card": "c-1", "amount": 2.5})
        second = producer.send({"card": 7}, event_id="p-2", headers=[("trace", b"x")])
        third = producer.send(b'{"id": "raw"}', key=b"\x00\xff")
        fourth = producer.send({"amount": 1})
        places = [future.result(30) for future in (first, second, third, fourth)]
    found = {Delivered(m.topic(), m.partition(), m.offset()): m for m in outside.read(topic)}
    one, two, three, four = (found[place] for place in places)
    assert (one.key(), json.loads(one.value()), one.headers()) == (
        b"c-1",
        {"id": "p-1", "card": "c-1", "amount": 2.5},
        None,
    )
    assert (two.key(), two.headers()) == (b"7", [("trace", b"x"), ("idempotency-key", b"p-2")])
    assert (three.key(), three.value()) == (b"\x00\xff", b'{"id": "raw"}')
    assert [(name, len(value)) for name, value in four.headers()] == [("idempotency-key", 32)]
    assert four.key() == dict(four.headers())["idempotency-key"]


def test_b46_more_events_than_the_queue_holds_all_arrive_once(
    brokers: str, topic_factory: TopicFactory, outside: Outside
) -> None:
    topic = topic_factory(2)
    kafka = {"bootstrap.servers": brokers, "queue.buffering.max.messages": 100}
    with EventProducer(kafka, topic, id_field="n") as producer:
        places = producer.send_many({"n": number} for number in range(10_000))
    assert len(set(places)) == 10_000
    assert sorted(json.loads(message.value())["n"] for message in outside.read(topic)) == list(range(10_000))


def test_b28_an_event_too_large_fails_alone(brokers: str, topic_factory: TopicFactory) -> None:
    with EventProducer(brokers, topic_factory(1)) as producer:
        good = producer.send({"x": 1})
        with pytest.raises(InvalidRequest, match="too_large") as refused:
            producer.send({"x": "a" * 2_000_000})
        assert refused.value.code == "too_large"
        with pytest.raises(InvalidRequest, match="not_finite"):
            producer.send({"x": float("nan")})
        assert good.result(30).offset == 0
    with pytest.raises(ClientClosed):
        producer.send({"x": 1})


def score(number: int, **more: Any) -> bytes:
    source = {"topic": "events", "partition": 0, "offset": number}
    wire = {"event_id": f"e-{number}", "model": "risk", "version": "1@ab", "source": source, "score": number / 8}
    return json.dumps(wire | more).encode()


def write(brokers: str, topic: str, numbers: range, *, commit: bool, transactional_id: str) -> None:
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": transactional_id, "log_level": 0})
    producer.init_transactions(20)
    producer.begin_transaction()
    for number in numbers:
        producer.produce(topic, score(number), f"e-{number}".encode(), partition=number % 2)
    producer.flush(20)
    if commit:
        producer.commit_transaction(20)
    else:
        producer.abort_transaction(20)


def test_scores_are_read_committed_and_once(brokers: str, topic_factory: TopicFactory) -> None:
    topic = topic_factory(3)  # the third partition stays empty
    write(brokers, topic, range(10), commit=True, transactional_id=f"{topic}-a")
    write(brokers, topic, range(100, 120), commit=False, transactional_id=f"{topic}-b")
    write(brokers, topic, range(5, 15), commit=True, transactional_id=f"{topic}-c")
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    producer.produce(topic, b"no score", b"e-99", partition=0)
    producer.produce(topic, score(50, added_later=1), None, partition=1)
    assert producer.flush(20) == 0
    write(brokers, topic, range(200, 210), commit=False, transactional_id=f"{topic}-d")
    with ScoreReader(brokers, topic) as reader:
        found = list(reader)
    assert sorted(read.score.score for read in found) == [number / 8 for number in [*range(15), 50]]
    assert {read.key for read in found} == {f"e-{number}".encode() for number in range(15)} | {None}
    assert (reader.repeated, reader.unreadable) == (5, 1)
    with ScoreReader(brokers, topic, unique=None) as reader:
        assert len(list(reader)) == 21


def test_scores_of_entities_are_told_apart_by_what_was_scored(brokers: str, topic_factory: TopicFactory) -> None:
    topic = topic_factory(1)
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    for number in (1, 2, 2, 3):
        producer.produce(topic, score(number), b"customer-7")
    assert producer.flush(20) == 0
    with ScoreReader(brokers, topic, unique="source") as reader:
        assert [read.score.score for read in reader] == [1 / 8, 2 / 8, 3 / 8]


def test_what_comes_later_is_followed_from_the_end(brokers: str, topic_factory: TopicFactory) -> None:
    topic = topic_factory(2)
    write(brokers, topic, range(4), commit=True, transactional_id=f"{topic}-a")
    with ScoreReader(brokers, topic, start="end") as reader:
        write(brokers, topic, range(4, 6), commit=True, transactional_id=f"{topic}-b")
        scores = iter(reader)
        assert sorted(next(scores).score.event_id for _ in range(2)) == ["e-4", "e-5"]


def test_partitions_that_are_added_are_read_by_whoever_follows(
    brokers: str, topic_factory: TopicFactory, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.producers.score_reader.LOOK_EVERY_S", 0.2)
    topic = topic_factory(1)
    with ScoreReader(brokers, topic, start="end") as reader:
        outside.add_partitions(topic, 3)
        producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
        for number in (1, 2):
            producer.produce(topic, score(number), b"e-%d" % number, partition=number)
        assert producer.flush(20) == 0
        scores = iter(reader)
        assert {next(scores).partition for _ in range(2)} == {1, 2}


def test_a_topic_that_is_deleted_ends_whoever_follows_it(
    brokers: str, topic_factory: TopicFactory, outside: Outside
) -> None:
    topic = topic_factory(1)
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    producer.produce(topic, score(1), b"e-1")
    assert producer.flush(20) == 0
    with ScoreReader(brokers, topic, follow=True) as reader:
        scores = iter(reader)
        assert next(scores).key == b"e-1"
        outside.delete(topic)
        with pytest.raises(TopicMissing):
            next(scores)


def test_an_empty_topic_has_no_scores_and_a_missing_one_is_named(brokers: str, topic_factory: TopicFactory) -> None:
    with ScoreReader(brokers, topic_factory(2)) as reader:
        assert list(reader) == []
    with pytest.raises(TopicMissing, match="no-such-topic"):
        ScoreReader(brokers, "no-such-topic")
    with EventProducer(brokers, "no-such-topic", delivery_s=20.0) as producer, pytest.raises(TopicMissing):
        producer.send({}).result(30)
