"""One partition's share of one poll, as columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol


class Message(Protocol):
    """What Pelton asks of a polled message: `confluent_kafka.Message`, or the fake of `pelton.testing`."""

    def topic(self) -> str | None:
        """Return the topic's name."""

    def partition(self) -> int | None:
        """Return the partition's number."""

    def offset(self) -> int | None:
        """Return the offset in the partition."""

    def key(self) -> bytes | None:
        """Return the key, byte for byte."""

    def value(self) -> bytes | None:
        """Return the value, byte for byte; None is a tombstone."""

    def headers(self) -> Any:
        """Return a list of (name, bytes or None), or None; may raise when a name is not UTF-8."""

    def timestamp(self) -> tuple[int, int]:
        """Return (kind, milliseconds since the epoch)."""


@dataclass(slots=True)
class Records:
    """Records of one topic partition, polled under one assignment: equal-length columns in offset order.

    `events[i]` is a decoded event (a msgspec Struct), a `Rejection` or `TOMBSTONE`. `n_bytes` counts keys and
    values; `arrived_s`, and `due_s` by which somebody wants the first of them, are on the monotonic clock. Of blocks in
    one queue those of the highest `priority` go first.
    """

    topic: str
    partition: int
    epoch: int
    messages: Sequence[Message]
    offsets: list[int]
    events: list[Any]
    n_bytes: int
    arrived_s: float
    due_s: float = math.inf
    priority: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def split(self, n: int) -> "tuple[Records, Records]":
        """Return the first `n` records and the rest; bytes are shared out by count and add up."""
        head_bytes = self.n_bytes * min(n, len(self)) // max(1, len(self))
        return (
            self._part(slice(None, n), head_bytes),
            self._part(slice(n, None), self.n_bytes - head_bytes),
        )

    def select(self, rows: list[int]) -> "Records":
        """Return the records at `rows`, in that order, with the bytes of all."""
        return replace(
            self,
            messages=[self.messages[row] for row in rows],
            offsets=[self.offsets[row] for row in rows],
            events=[self.events[row] for row in rows],
        )

    def _part(self, rows: slice, n_bytes: int) -> "Records":
        return Records(
            topic=self.topic,
            partition=self.partition,
            epoch=self.epoch,
            messages=self.messages[rows],
            offsets=self.offsets[rows],
            events=self.events[rows],
            n_bytes=n_bytes,
            arrived_s=self.arrived_s,
            due_s=self.due_s,
            priority=self.priority,
        )
