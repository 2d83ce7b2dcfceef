"""The clients' properties: what was set passes through, what Pelton promises is never changed by it."""

import logging
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from pelton.kafka_clients import (
    client_properties,
    consumer_properties,
    librdkafka_log,
    max_in_flight,
    producer_properties,
)
from pelton.schemas.settings import Settings

SENTINEL = "pelton.no.such.property"


def settings(kafka: dict[str, Any] | None = None, max_size: int = 256, **stream: Any) -> Settings:
    stream = {"topics": ["in"], "group": "g", "sink": "out", **stream}
    return Settings(model="m", kafka=kafka or {}, stream=stream, batch={"max_size": max_size})


def stream_properties(made: Settings, index: int) -> dict[str, Any]:
    assert made.stream is not None
    return consumer_properties(made, made.stream, index)


def test_nothing_is_committed_behind_the_offsets_back() -> None:
    properties = stream_properties(settings(), 0)
    assert properties["enable.auto.commit"] is False
    assert properties["enable.auto.offset.store"] is False
    assert properties["isolation.level"] == "read_committed"
    assert properties["group.id"] == "g"


def test_the_producer_is_idempotent_and_patient() -> None:
    properties = producer_properties(settings())
    assert (properties["enable.idempotence"], properties["acks"]) == (True, "all")
    assert properties["message.timeout.ms"] == 0


@pytest.mark.parametrize("build", [lambda s: stream_properties(s, 0), producer_properties, client_properties])
def test_properties_of_the_settings_pass_through(build: Any) -> None:
    properties = build(settings({"bootstrap.servers": "kafka:9092", "linger.ms": 50, "fetch.min.bytes": 7}))
    assert properties["bootstrap.servers"] == "kafka:9092"
    assert (properties["linger.ms"], properties["fetch.min.bytes"]) == (50, 7)


@pytest.mark.parametrize("reset", ["earliest", "latest", "error"])
def test_a_group_begins_where_the_settings_say(reset: str) -> None:
    assert stream_properties(settings(reset=reset), 0)["auto.offset.reset"] == reset


def test_b60_each_worker_has_an_instance_id_of_its_own() -> None:
    ids = [stream_properties(settings(static_id="pod-3"), index).get("group.instance.id") for index in range(3)]
    assert ids == ["pod-3-0", "pod-3-1", "pod-3-2"]
    assert "group.instance.id" not in stream_properties(settings(), 0)


def test_the_new_group_protocol_brings_no_assignor_of_its_own() -> None:
    properties = stream_properties(settings({"group.protocol": "consumer"}), 0)
    assert "partition.assignment.strategy" not in properties
    assert stream_properties(settings(), 0)["partition.assignment.strategy"] == "cooperative-sticky"


@pytest.mark.parametrize(
    ("client", "build"), [(Consumer, lambda s: stream_properties(s, 0)), (Producer, producer_properties)]
)
@pytest.mark.parametrize("kafka", [{}, {"group.protocol": "consumer"}])
def test_librdkafka_takes_every_property(client: Any, build: Any, kafka: dict[str, Any]) -> None:
    """The last property does not exist, so that no client is made: its complaint must be about that one."""
    with pytest.raises(KafkaException, match=SENTINEL):
        client({**build(settings(kafka)), SENTINEL: "1"})


@pytest.mark.parametrize(
    ("queue", "max_size", "expected"),
    [
        (None, 256, 4096),
        (None, 10_000, 99_999),
        (100, 256, 99),
        ("100", 256, 99),
        (5000, 256, 4096),
        (1, 256, 1),
        (0, 256, 4096),  # librdkafka: no limit
    ],
)
def test_b46_no_more_is_on_its_way_than_the_producers_queue_holds(
    queue: int | str | None, max_size: int, expected: int
) -> None:
    given = settings({} if queue is None else {"queue.buffering.max.messages": queue}, max_size)
    assert max_in_flight(given, producer_properties(given)) == expected


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("FAIL [rdkafka#consumer-1] Connect to ipv4#127.0.0.1:1 failed", False),
        ("ERROR [rdkafka#consumer-1] 1/1 brokers are down", False),
        ("CONFWARN [rdkafka#producer-2] Configuration property fetch.min.bytes is a consumer property", False),
        ("FATAL [rdkafka#consumer-9] [thrd:main]: Fatal error: Broker: The instance ID is still used", False),
        ("MAXPOLL [rdkafka#consumer-1] Application maximum poll interval exceeded", True),
    ],
)
def test_b40_what_the_client_repeats_for_ever_is_not_logged(line: str, shown: bool) -> None:
    record = logging.LogRecord("pelton.librdkafka", logging.WARNING, "", 0, line, None, None)
    assert bool(librdkafka_log.filter(record)) is shown


@pytest.mark.parametrize("build", [lambda s: stream_properties(s, 0), producer_properties, client_properties])
def test_b46_a_broker_that_is_back_is_found_within_a_second(build: Any) -> None:
    assert build(settings())["reconnect.backoff.max.ms"] == 1_000
    assert build(settings({"reconnect.backoff.max.ms": 7}))["reconnect.backoff.max.ms"] == 7
