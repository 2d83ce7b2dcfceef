"""The W3C trace context in a record's headers: whose trace it belongs to."""

import re
from typing import Final, NamedTuple

# A later version may have more after the flags; version ff is forbidden (https://www.w3.org/TR/trace-context/).
_PARENT: Final = re.compile(rb"(?!ff)(?!00-.{54})[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_SAMPLED: Final = 1


class TraceContext(NamedTuple):
    """A span somewhere, which others may be children of or link to."""

    trace_id: int
    span_id: int
    flags: int

    @property
    def sampled(self) -> bool:
        """Whether its maker may have recorded it."""
        return bool(self.flags & _SAMPLED)

    def header(self) -> bytes:
        """Return the value of the header `traceparent`."""
        return b"00-%032x-%016x-%02x" % self


def read_traceparent(value: bytes | None) -> TraceContext | None:
    """Return what a header `traceparent` says, None where it says nothing that counts."""
    found = _PARENT.fullmatch(value) if value else None
    if found is None:
        return None
    context = TraceContext(*(int(part, 16) for part in found.groups()))
    return context if context.trace_id and context.span_id else None
