"""Which librdkafka properties are refused: those that break a promise, do not exist or contradict each other."""

import difflib
import re
from collections.abc import Iterator
from typing import Any

from pelton.schemas.kafka_properties import FORBIDDEN, OFTEN_USED, KafkaProperties, is_secret
from pelton.schemas.settings_problems import HIDDEN, MISSING, Problem

_SENTINEL = "pelton.no.such.property"
_UNKNOWN = "librdkafka has no such property"
_BROKER_SIDE = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy", "group.protocol.type")
_WHOLE = re.compile(
    r".*\.(timeout\.ms|interval\.ms|k?bytes)|batch\.size|queue\.buffering\.max\.messages|max\.in\.flight.*"
)
_DIGITS = re.compile(r"-?(0|[1-9][0-9]*)")
_SESSION_MS, _HEARTBEAT_MS, _MAX_POLL_MS = 45_000, 3_000, 300_000
_TRANSACTION_MS, _LEAST_TRANSACTION_MS = 60_000, 2_000


def kafka_problems(properties: KafkaProperties) -> Iterator[Problem]:
    """Yield what is wrong with the properties under `kafka:`; opens no connection."""
    sound = True
    for name, value in properties.items():
        if why := _why_not(name, value):
            sound = False
            # The value of a name nobody knows may be a password under a misspelt one.
            yield Problem(f"kafka.{name}", HIDDEN if why.startswith(_UNKNOWN) else value, why)
    if sound:
        yield from _contradictions(properties)


def _why_not(name: str, value: Any) -> str | None:
    if why := FORBIDDEN.get(name):
        return f"may not be set: {why}"
    if isinstance(value, dict):
        return "must be one value; librdkafka's names have dots and no levels"
    if not isinstance(value, (str, int, float)):
        return f"must be text or a number, not {'null' if value is None else type(value).__name__}"
    if name == "bootstrap.servers" and not str(value).strip(" ,"):
        return "must name a broker, host:port"
    if _WHOLE.fullmatch(name) and not _DIGITS.fullmatch(str(value)):
        return "must be a whole number without a unit: of `45s` librdkafka would take the 45"
    return _refused_by_client(name, value)


def _refused_by_client(name: str, value: str | float) -> str | None:
    """Ask the installed librdkafka; the last property does not exist, so that no client is ever made."""
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - keeps `import pelton.schemas` light

    try:
        Producer({name: value, _SENTINEL: "1"})
    except KafkaException as error:
        text = error.args[0].str()
    except (TypeError, ValueError) as error:
        text = str(error)
    if _SENTINEL in text:
        return None
    if text.startswith("No such configuration property"):
        close = difflib.get_close_matches(name, (*OFTEN_USED, *FORBIDDEN), n=1)
        close = ["bootstrap.servers"] if name in {"brokers", "broker", "servers"} else close
        return _UNKNOWN + (f"; the nearest right name is kafka.{close[0]}" if close else "")
    return "librdkafka refuses this value" + ("" if is_secret(name) else f": {text}")


def _contradictions(properties: KafkaProperties) -> Iterator[Problem]:
    if properties.get("group.protocol") == "consumer":
        for name in _BROKER_SIDE:
            if name in properties:
                why = "with group.protocol: consumer the broker decides this (there group.consumer.*)"
                yield Problem(f"kafka.{name}", properties[name], why)
    else:
        yield from _classic_times(properties)
    protocol = str(properties.get("security.protocol", "")).lower()
    if protocol.startswith("sasl") and not {"sasl.mechanism", "sasl.mechanisms"} & set(properties):
        why = f"is missing: security.protocol is {protocol}, and librdkafka would take GSSAPI"
        yield Problem("kafka.sasl.mechanism", MISSING, why)
    if (limit := _number(properties, "transaction.timeout.ms", _TRANSACTION_MS)) < _LEAST_TRANSACTION_MS:
        why = f"is less than {_LEAST_TRANSACTION_MS}: a commit that waits for the broker would not fit"
        yield Problem("kafka.transaction.timeout.ms", limit, why)
    if (flight := _number(properties, "max.in.flight.requests.per.connection", 5)) > 5:
        yield Problem(
            "kafka.max.in.flight.requests.per.connection", flight, "is more than 5, the most that keeps order"
        )


def _classic_times(properties: KafkaProperties) -> Iterator[Problem]:
    session = _number(properties, "session.timeout.ms", _SESSION_MS)
    heartbeat = _number(properties, "heartbeat.interval.ms", _HEARTBEAT_MS)
    poll = _number(properties, "max.poll.interval.ms", _MAX_POLL_MS)
    if heartbeat >= session:
        yield Problem("kafka.heartbeat.interval.ms", heartbeat, f"is not less than session.timeout.ms ({session})")
    if poll < session:
        yield Problem("kafka.max.poll.interval.ms", poll, f"is less than session.timeout.ms ({session})")


def _number(properties: KafkaProperties, name: str, default: int) -> int:
    return int(properties.get(name, default))
