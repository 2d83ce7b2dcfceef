"""librdkafka properties: passed through, unless they break a promise, do not exist or contradict each other."""

from typing import Any

import pytest

from pelton.schemas.kafka_properties import FORBIDDEN, KafkaProperties, is_secret
from pelton.schemas.kafka_rules import kafka_problems


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"bootstrap.servers": "a:1,b:2", "client.id": "me", "linger.ms": "5.5"},
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.password": "x"},
        {"ssl.ca.location": "/nowhere", "socket.keepalive.enable": "true", "compression.type": "lz4"},
        {"group.protocol": "consumer", "max.poll.interval.ms": 60000},
        {"session.timeout.ms": 6000, "heartbeat.interval.ms": 2000, "max.poll.interval.ms": 6000},
        {"max.in.flight.requests.per.connection": 5},
        {"session.timeout.ms": "45000", "socket.timeout.ms": 10000, "message.max.bytes": "1000000"},
    ],
)
def test_sound_properties_pass(properties: dict[str, Any]) -> None:
    assert list(kafka_problems(KafkaProperties(properties))) == []


@pytest.mark.parametrize("name", FORBIDDEN)
def test_properties_that_break_a_promise_are_refused_with_the_reason(name: str) -> None:
    (problem,) = kafka_problems(KafkaProperties({name: "x"}))
    assert problem.path == f"kafka.{name}"
    assert FORBIDDEN[name] in problem.why


def test_the_promises_are_covered() -> None:
    promised = {"enable.auto.commit", "enable.auto.offset.store", "isolation.level", "enable.idempotence", "acks"}
    promised |= {"group.id", "group.instance.id", "transactional.id", "delivery.report.only.error"}
    assert promised <= set(FORBIDDEN)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("bootstrap.server", "x", "the nearest right name is kafka.bootstrap.servers"),
        ("sasl.pasword", "hunter2", "the nearest right name is kafka.sasl.password"),
        ("nothing.like.it", "x", "librdkafka has no such property"),
        ("brokers", "a:1", "the nearest right name is kafka.bootstrap.servers"),
        ("linger.ms", "abc", "librdkafka refuses this value"),
        ("queued.max.messages.kbytes", "16MB", "must be a whole number without a unit"),
        ("compression.type", "zip", "librdkafka refuses this value"),
        ("fetch.min.bytes", -5, "librdkafka refuses this value"),
        ("max.poll.interval.ms", "5m", "must be a whole number"),
        ("transaction.timeout.ms", "0x10000", "must be a whole number"),
        ("session.timeout.ms", "045000", "must be a whole number"),
        ("message.max.bytes", 1.5e6, "must be a whole number"),
        ("client.id", None, "must be text or a number, not null"),
        ("client.id", [1], "must be text or a number, not list"),
        ("bootstrap", {"servers": "x"}, "no levels"),
        ("", "x", "librdkafka has no such property"),
    ],
)
def test_properties_the_client_does_not_take_are_refused(name: str, value: Any, why: str) -> None:
    (problem,) = kafka_problems(KafkaProperties({name: value}))
    assert why in problem.why
    assert "hunter" not in problem.line({})


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({"session.timeout.ms": 400_000}, "kafka.max.poll.interval.ms"),
        ({"max.poll.interval.ms": 10_000}, "kafka.max.poll.interval.ms"),
        ({"heartbeat.interval.ms": 45_000}, "kafka.heartbeat.interval.ms"),
        ({"max.in.flight.requests.per.connection": 6}, "kafka.max.in.flight.requests.per.connection"),
        ({"security.protocol": "sasl_ssl", "sasl.username": "u"}, "kafka.sasl.mechanism"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "kafka.sasl.mechanism"),
        ({"transaction.timeout.ms": 1999}, "kafka.transaction.timeout.ms"),
        ({"group.protocol": "consumer", "session.timeout.ms": 6000}, "kafka.session.timeout.ms"),
        ({"group.protocol": "consumer", "heartbeat.interval.ms": 600}, "kafka.heartbeat.interval.ms"),
        (
            {"group.protocol": "consumer", "partition.assignment.strategy": "range"},
            "kafka.partition.assignment.strategy",
        ),
        ({"group.protocol": "consumer", "group.protocol.type": "consumer"}, "kafka.group.protocol.type"),
        (
            {"group.protocol": "consumer", "max.in.flight.requests.per.connection": 6},
            "kafka.max.in.flight.requests.per.connection",
        ),
    ],
)
def test_contradictions_are_refused(properties: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in kafka_problems(KafkaProperties(properties))] == [path]


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.password", True),
        ("SASL.PASSWORD", True),
        ("ssl.key.pem", True),
        ("sasl.oauthbearer.client.secret", True),
        ("sasl.username", False),
        ("bootstrap.servers", False),
        ("ssl.key.location", False),
        ("client.id", False),
    ],
)
def test_secrets_are_known_by_name(name: str, secret: Any) -> None:
    assert is_secret(name) is secret
