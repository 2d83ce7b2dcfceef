"""Scores read from Kafka in memory: each once, whatever lies between them."""

import json
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.errors import AccessDenied, BrokerUnavailable, ClientClosed, SettingsError, TopicMissing
from pelton.producers import score_reader
from pelton.producers.score_reader import ScoreReader
from pelton.testing import FakeKafka


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"scores": 2})


def read(kafka: FakeKafka, **options: Any) -> ScoreReader:
    return ScoreReader("none", "scores", make_consumer=kafka.consumer, **options)


def write(kafka: FakeKafka, number: int, *, partition: int = 0, key: bytes | None = None) -> None:
    source = {"topic": "events", "partition": 0, "offset": number}
    wire = {"event_id": f"e-{number}", "model": "m", "version": "1@a", "source": source, "score": number / 4}
    kafka.write("scores", json.dumps(wire).encode(), key or b"e-%d" % number, partition=partition)


def test_each_score_is_read_once_up_to_where_the_topic_ended(kafka: FakeKafka) -> None:
    for number in (1, 2, 1, 3, 2):
        write(kafka, number, partition=number % 2)
    kafka.write("scores", None, b"e-1")
    reader = read(kafka)
    write(kafka, 1, partition=1)
    assert sorted(each.score.score for each in reader) == [0.25, 0.5, 0.75]
    assert reader.unreadable == 1
    assert 2 <= reader.repeated <= 3  # what came after the start may be read along


def test_only_the_last_million_are_remembered(kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_reader, "REMEMBERED", 3)
    for number in (1, 2, 3, 1, 4, 1):
        write(kafka, number)
    assert [each.score.event_id for each in read(kafka)] == ["e-1", "e-2", "e-3", "e-4", "e-1"]


def test_a_closed_reader_says_so(kafka: FakeKafka) -> None:
    write(kafka, 1)
    with read(kafka, follow=True) as reader:
        scores = iter(reader)
        assert next(scores).score.event_id == "e-1"
    with pytest.raises(ClientClosed):
        next(scores)


def test_what_may_not_be_read_ends_the_reading(kafka: FakeKafka) -> None:
    reader = read(kafka, follow=True)
    kafka.consumers[0].fail(KafkaError(KafkaError._ALL_BROKERS_DOWN, "away for a while"))
    kafka.consumers[0].fail(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not allowed"), "scores", after=2)
    with pytest.raises(AccessDenied):
        list(reader)


def test_the_start_says_what_is_missing(kafka: FakeKafka) -> None:
    with pytest.raises(TopicMissing, match="elsewhere"):
        ScoreReader("none", "elsewhere", make_consumer=kafka.consumer)
    kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        read(kafka)
    assert [consumer.closed for consumer in kafka.consumers] == [True, True]


@pytest.mark.parametrize("odd", [{"start": "begining"}, {"unique": "keys"}])
def test_a_word_that_means_nothing_is_refused(kafka: FakeKafka, odd: dict[str, Any]) -> None:
    """With any other word for the start, nothing at all was read."""
    with pytest.raises(SettingsError, match=f"{next(iter(odd))}='"):
        read(kafka, **odd)


def test_partitions_that_are_added_are_read_from_their_beginning(
    kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_reader, "LOOK_EVERY_S", 0.0)
    write(kafka, 1)
    reader = read(kafka, start="end")
    kafka.topics["scores"].append([])
    write(kafka, 2, partition=2)
    scores = iter(reader)
    assert next(scores).score.event_id == "e-2"
    kafka.reachable = False  # what cannot be asked for now is asked for later
    kafka.topics["scores"].append([])
    write(kafka, 3, partition=3)
    kafka.consumers[0]._at(3, lambda: setattr(kafka, "reachable", True))
    assert next(scores).score.event_id == "e-3"
