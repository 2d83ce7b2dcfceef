"""Which scores the sink would refuse, told before they are produced."""

import time
from collections.abc import Sequence
from operator import length_hint
from typing import Any

from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection
from pelton.schemas.topic_limits import TopicLimits

ENVELOPE_BYTES = 1_024
"""What a message may have beside key and value, before the client's own limit is near: headers, framing."""


class Admission:
    """Judges scores by the sink's limits: a broker refuses whole requests, and a transaction ends with them."""

    def __init__(self, limits: TopicLimits, max_bytes: int, *, event_time: bool) -> None:
        self._limits, self._event_time = limits, event_time
        self._max_bytes = min(max_bytes, limits.max_bytes) - ENVELOPE_BYTES

    def judge(self, records: Records, values: list[Any], keys: Sequence[bytes | None]) -> list[Any]:
        """Return the values, with a `Rejection` in place of each that the sink would refuse."""
        # A `Rejection` and a key that is None have no length, and count as none.
        if sum(map(length_hint, values)) + sum(map(length_hint, keys)) > self._max_bytes:
            values = [self._sized(value, key) for value, key in zip(values, keys, strict=True)]
        if self._limits.compacted and None in keys:
            values = [_KEYLESS if key is None else value for value, key in zip(values, keys, strict=True)]
        if self._event_time:
            values = self._timely(records, values)
        return values

    def _sized(self, value: Any, key: bytes | None) -> Any:
        n_bytes = length_hint(value) + length_hint(key)
        if isinstance(value, Rejection) or n_bytes <= self._max_bytes:
            return value
        taken = f"the sink takes {self._max_bytes} at most (message.max.bytes)"
        return Rejection(Code.TOO_LARGE, f"the score is {n_bytes} bytes, and {taken}", "produce", "ScoreTooLarge")

    def _timely(self, records: Records, values: list[Any]) -> list[Any]:
        now_ms = time.time_ns() // 1_000_000
        bounds = range(now_ms - self._limits.before_max_ms, now_ms + self._limits.after_max_ms + 1)
        stamps_ms = [message.timestamp()[1] for message in records.messages]
        # One that has no timestamp gets the producer's.
        fits = [stamp_ms <= 0 or stamp_ms in bounds for stamp_ms in stamps_ms]
        if all(fits):
            return values
        return [
            value if fit else _out_of_bounds(stamp_ms, bounds)
            for value, fit, stamp_ms in zip(values, fits, stamps_ms, strict=True)
        ]


_KEYLESS = Rejection(Code.INVALID, "the sink is compacted and takes no score without a key", "produce", "KeyMissing")


def _out_of_bounds(stamp_ms: int, bounds: range) -> Rejection:
    taken = f"the sink takes {bounds.start} to {bounds.stop - 1} (message.timestamp.before.max.ms and after.max.ms)"
    reason = f"the event's timestamp is {stamp_ms}, and {taken}"
    return Rejection(Code.INVALID, reason, "produce", "TimestampOutOfBounds")
