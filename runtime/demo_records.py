"""What the demo sent and what it reads back, as plain records."""

from dataclasses import dataclass
from typing import Any

import msgspec
from confluent_kafka import Message

from pelton.schemas import headers
from pelton.schemas.codes import Code

Position = tuple[str, int, int]
"""Topic, partition and offset of an input record."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A record to send: its key, which is the flight's id, and what must come of it.

    `code` is None for an intact event, which gets a score; `label` is None where nobody knows how it ended.
    """

    key: str
    value: bytes
    code: Code | None = None
    label: bool | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A planned record that the broker confirmed, with its place and time (ms since the epoch)."""

    planned: Planned
    position: Position
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A record of the sink topic; `position` and `event_id` are None where its value is no score."""

    key: bytes | None
    event_id: str | None
    position: Position | None
    score: float
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of the dead-letter topic; `position` is None where its headers name none."""

    key: bytes | None
    value: bytes | None
    position: Position | None
    code: str


class _Source(msgspec.Struct):
    topic: str
    partition: int
    offset: int


class _Value(msgspec.Struct):
    event_id: str
    source: _Source
    score: float


_decode = msgspec.json.Decoder(_Value).decode


def read_score(message: Message) -> Scored:
    """Turn a record of the sink into a `Scored`, whatever it holds."""
    at_ms = message.timestamp()[1]
    try:
        value = _decode(message.value() or b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Scored(message.key(), None, None, float("nan"), at_ms)
    source = value.source
    position = (source.topic, source.partition, source.offset)
    return Scored(message.key(), value.event_id, position, value.score, at_ms)


def read_dead_letter(message: Message) -> DeadLetter:
    """Turn a record of the dead-letter topic into a `DeadLetter`, whatever it holds."""
    named: dict[str, Any] = dict(message.headers() or ())
    code = str(named.get(headers.ERROR_CODE, b""), "utf-8", "replace")
    return DeadLetter(message.key(), message.value(), _position(named), code)


def _position(named: dict[str, Any]) -> Position | None:
    try:
        topic = named[headers.ERROR_TOPIC].decode()
        return topic, int(named[headers.ERROR_PARTITION]), int(named[headers.ERROR_OFFSET])
    except (KeyError, ValueError, AttributeError):
        return None
