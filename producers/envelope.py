"""An answer on its way: what goes where, and who hears what became of it."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from pelton.producers.channel import Manner
from pelton.schemas.headers import CORRELATION_ID, TRACEPARENT, TRACESTATE
from pelton.schemas.request import RequestHead


class Sent(StrEnum):
    """What became of an answer."""

    DELIVERED = "delivered"
    NO_TOPIC = "no_topic"
    """The reply topic, or the partition asked for, does not exist."""
    FORBIDDEN = "forbidden"
    """No pattern of the allow-list matches the reply topic."""
    FAILED = "failed"


class Envelope(msgspec.Struct, eq=False):
    """One answer, and what was tried for it."""

    head: RequestHead
    value: bytes
    trace_id: str
    done: Callable[[Sent], None]
    manner: Manner = Manner.EACH
    replaced: bool = False
    """Whether its value only says that the answer is too large."""
    again: bool = False
    """Whether a producer that held it has failed for good."""

    @property
    def topic(self) -> str:
        """Where it goes."""
        return str(self.head.reply_topic)

    def headers(self) -> list[tuple[str, str | bytes | None]]:
        """Return what the caller tells it by."""
        head = self.head
        headers: list[tuple[str, str | bytes | None]] = []
        if head.correlation_id is not None:
            headers.append((CORRELATION_ID, head.correlation_id))
        if head.traceparent is not None:
            headers.append((TRACEPARENT, head.traceparent))
        if head.tracestate is not None:
            headers.append((TRACESTATE, head.tracestate))
        return headers
