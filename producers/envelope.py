"""An answer on its way: what goes where, and who hears what became of it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

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

    def place(self) -> dict[str, Any]:
        """Return partition and headers as the producer takes them."""
        head, headers = self.head, list[tuple[str, bytes]]()
        for name, value in (
            (CORRELATION_ID, head.correlation_id),
            (TRACEPARENT, head.traceparent),
            (TRACESTATE, head.tracestate),
        ):
            if value is not None:
                headers.append((name, value))
        return {"partition": -1 if head.reply_partition is None else head.reply_partition, "headers": headers}
