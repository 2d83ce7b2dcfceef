"""What a caller puts on a request topic: a body to be scored, and headers that say who asks and until when."""

import struct
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pelton.schemas import headers

Headers = list[tuple[str, str | bytes | None]]
"""Headers by the type the producer takes."""

_INT32: Final = struct.Struct(">i")
_LATEST_MS: Final = 2**53
NORMAL_PRIORITY: Final = 4


class Request(BaseModel):
    """The value of a record in a request topic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: JsonValue = Field(
        description="One event by the model's input schema, or a list of them, which is answered by a list."
    )
    model: str | None = Field(default=None, description="Model asked for, `name` or `name@version`; null for the one.")
    params: dict[str, JsonValue] = Field(default={}, description="What the model is to be told beside the inputs.")


class RequestHead(msgspec.Struct, frozen=True):
    """Who asks, where the answer goes and until when it is of use.

    The names are those of Spring Kafka's ReplyingKafkaTemplate, so that its callers are understood as they are:
    https://docs.spring.io/spring-kafka/reference/kafka/sending-messages.html#replying-template
    """

    correlation_id: bytes | None = None
    """Opaque: echoed, never read."""
    reply_topic: str | None = None
    reply_partition: int | None = None
    deadline_ms: int | None = None
    """Milliseconds since the epoch, by the caller's clock."""
    priority: int = NORMAL_PRIORITY
    """From 0 to 9, the most urgent: the numbers of JMS."""
    cancels: bool = False
    traceparent: bytes | None = None
    tracestate: bytes | None = None
    fault: str = ""
    """What is wrong with the headers, if anything; the fields that could be read are there nevertheless."""

    def headers(self) -> Headers:
        """Return the head as headers of a record."""
        written: list[tuple[str, str | bytes | None]] = []
        if self.correlation_id is not None:
            written.append((headers.CORRELATION_ID, self.correlation_id))
        if self.reply_topic is not None:
            written.append((headers.REPLY_TOPIC, self.reply_topic.encode()))
        if self.reply_partition is not None:
            written.append((headers.REPLY_PARTITION, _INT32.pack(self.reply_partition)))
        if self.deadline_ms is not None:
            written.append((headers.DEADLINE, str(self.deadline_ms).encode()))
        if self.priority != NORMAL_PRIORITY:
            written.append((headers.PRIORITY, b"%d" % self.priority))
        if self.cancels:
            written.append((headers.CANCEL, b"1"))
        if self.traceparent is not None:
            written.append((headers.TRACEPARENT, self.traceparent))
        if self.tracestate is not None:
            written.append((headers.TRACESTATE, self.tracestate))
        return written


def read_head(given: Iterable[tuple[str, bytes | None]] | None) -> RequestHead:
    """Return the head that a request's headers make; never raises.

    Of a header given twice the last counts, as for Kafka's own `lastHeader`.
    """
    found = dict(given or ())
    faults: list[str] = []
    return RequestHead(
        correlation_id=found.get(headers.CORRELATION_ID),
        reply_topic=_text(found, headers.REPLY_TOPIC, faults),
        reply_partition=_int32(found, headers.REPLY_PARTITION, faults),
        deadline_ms=_digits(found, headers.DEADLINE, faults),
        priority=_digit(found, headers.PRIORITY, faults),
        cancels=headers.CANCEL in found,
        traceparent=found.get(headers.TRACEPARENT),
        tracestate=found.get(headers.TRACESTATE),
        fault="; ".join(faults),
    )


def _text(found: dict[str, Any], name: str, faults: list[str]) -> str | None:
    try:
        return found[name].decode() if found.get(name) else None
    except UnicodeDecodeError:
        faults.append(f"{name} is not UTF-8")
        return None


def _int32(found: dict[str, Any], name: str, faults: list[str]) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    if len(value) != _INT32.size or (number := _INT32.unpack(value)[0]) < 0:
        faults.append(f"{name} is not a partition as a big-endian int32")
        return None
    return int(number)


def _digits(found: dict[str, Any], name: str, faults: list[str]) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    if not value.isdigit() or len(value) > 20 or int(value) > _LATEST_MS:
        faults.append(f"{name} is not a number of milliseconds since the epoch")
        return None
    return int(value)


def _digit(found: dict[str, Any], name: str, faults: list[str]) -> int:
    value = found.get(name)
    if value is None:
        return NORMAL_PRIORITY
    if not value.isdigit() or len(value) != 1:
        faults.append(f"{name} is not a digit from 0 to 9")
        return NORMAL_PRIORITY
    return int(value)
