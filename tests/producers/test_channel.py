"""The connection: three manners, and a producer that is replaced without a trace."""

import pytest
from confluent_kafka import KafkaError

from pelton.producers.channel import Channel, Manner
from pelton.testing import FakeKafka

FATAL = KafkaError(KafkaError._GAPLESS_GUARANTEE, "gap", fatal=True)


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"scores": 1})


def opened(kafka: FakeKafka, manner: Manner, heard: list[KafkaError] | None = None) -> Channel:
    heard = [] if heard is None else heard
    return Channel({"acks": "all", "linger.ms": 1}, manner, kafka.producer, heard.append)


@pytest.mark.parametrize(
    ("manner", "gapless", "alone", "reports_each"),
    [(Manner.FAST, True, False, False), (Manner.EACH, False, False, True), (Manner.SINGLY, False, True, True)],
)
def test_each_manner_has_its_properties(
    kafka: FakeKafka, manner: Manner, gapless: bool, alone: bool, reports_each: bool
) -> None:
    channel = opened(kafka, manner)
    config = channel.producer.config
    assert config["acks"] == "all"
    assert config.get("enable.gapless.guarantee", False) is gapless
    assert (config.get("batch.num.messages") == 1) is alone
    assert channel.reports_each is reports_each
    assert channel.manner is manner


@pytest.mark.parametrize("manner", list(Manner))
def test_librdkafka_takes_the_properties_of_each_manner(manner: Manner) -> None:
    from confluent_kafka import Producer

    Channel({"enable.idempotence": True, "acks": "all", "linger.ms": 1}, manner, Producer, lambda _: None)


def test_what_the_old_producer_held_is_dropped_and_reported_as_purged(kafka: FakeKafka) -> None:
    channel = opened(kafka, Manner.FAST)
    kafka.reachable = False
    reports: list[str] = []
    channel.producer.produce("scores", b"a", on_delivery=lambda error, _: reports.append(error.name()))
    channel.open(Manner.SINGLY)
    kafka.reachable = True
    channel.producer.poll(0)
    assert reports == ["_PURGE_QUEUE"]
    assert kafka.read("scores") == []
    assert channel.manner is Manner.SINGLY


def test_a_producer_that_has_failed_for_good_can_be_replaced(kafka: FakeKafka) -> None:
    channel = opened(kafka, Manner.FAST)
    channel.producer.break_down(FATAL)
    channel.open(Manner.SINGLY)
    channel.producer.produce("scores", b"a")
    channel.producer.poll(0)
    assert [message.value() for message in kafka.read("scores")] == [b"a"]


def test_only_errors_of_the_producer_in_use_are_heard(kafka: FakeKafka) -> None:
    heard: list[KafkaError] = []
    channel = opened(kafka, Manner.FAST, heard)
    old = channel.producer.config["error_cb"]
    down = KafkaError(KafkaError._TRANSPORT, "down")
    old(down)
    assert heard == [down]
    channel.open(Manner.FAST)
    old(down)
    assert len(heard) == 1
    channel.producer.config["error_cb"](down)
    assert len(heard) == 2
