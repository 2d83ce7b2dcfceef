"""Requests on their way from the topic to their answers."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from pelton.schemas.records import Message, Records
from pelton.schemas.request import RequestHead, read_head
from pelton.schemas.trace_context import read_traceparent

Address = tuple[bytes, str | None, int | None]
"""Whose request it is: correlation id, reply topic, reply partition."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long callers are taken to wait; all in seconds."""

    default_s: float = 10.0
    """For callers that do not say, counted from the record's timestamp."""
    most_s: float = 600.0
    """Counted from the arrival, whatever the caller says."""
    skew_s: float = 1.0
    """How far the caller's clock may be behind ours."""


class Call(msgspec.Struct, eq=False):
    """One request: who asks, what, and until when an answer is of use.

    `deadline_s` and `arrived_s` are on the monotonic clock; `events` are the decoded inputs.
    """

    head: RequestHead
    origin: tuple[str, int]
    epoch: int
    offset: int
    arrived_s: float
    deadline_s: float
    events: list[Any] = []
    single: bool = True
    cancelled: bool = False

    def __len__(self) -> int:
        return len(self.events)

    @property
    def expired(self) -> bool:
        """Whether nobody waits any more."""
        return time.monotonic() > self.deadline_s

    @property
    def address(self) -> Address | None:
        """Whose request it is, None for one without a correlation id."""
        head = self.head
        return (head.correlation_id, head.reply_topic, head.reply_partition) if head.correlation_id else None

    @property
    def trace_id(self) -> str:
        """What to quote when asking about this call: the trace's id, or else the correlation id in hex."""
        if context := read_traceparent(self.head.traceparent):
            return f"{context.trace_id:032x}"
        return (self.head.correlation_id or b"")[:16].hex()


def calls_of(records: Records, patience: Patience) -> list[Call]:
    """Return a call for each record of a block, with nothing but its head read; no record can make it raise."""
    now_s, now_ms = time.monotonic(), time.time() * 1000
    origin = (records.topic, records.partition)
    calls = []
    for message, offset in zip(records.messages, records.offsets, strict=True):
        head = _head(message)
        said_ms = head.deadline_ms
        until_ms = _sent_ms(message, now_ms) + patience.default_s * 1000 if said_ms is None else said_ms
        left_s = min((until_ms - now_ms) / 1000 + patience.skew_s, patience.most_s)
        calls.append(Call(head, origin, records.epoch, offset, records.arrived_s, now_s + left_s))
    return calls


def lots(records: Records) -> Iterator[Records]:
    """Yield the calls of a block as a queue takes them: in their order, and those of one priority together."""
    for priority, same in groupby(call.head.priority for call in records.events):
        lot, records = records.split(sum(1 for _ in same))
        lot.priority, lot.due_s = priority, min(call.deadline_s for call in lot.events)
        yield lot


def _head(message: Message) -> RequestHead:
    try:
        return read_head(message.headers())
    except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
        return RequestHead(fault="the name of a header is not UTF-8")


def _sent_ms(message: Message, now_ms: float) -> float:
    sent_ms = message.timestamp()[1]
    return min(sent_ms, now_ms) if sent_ms > 0 else now_ms
