"""What callers use: ask and be answered, send events, read scores. Needs the base install only.

from pelton.producers.client import RequestReplyClient
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pelton.producers.async_client import AsyncRequestReplyClient
    from pelton.producers.call_counts import CallCounts
    from pelton.producers.call_options import CallOptions
    from pelton.producers.event_producer import Delivered, EventProducer
    from pelton.producers.score_reader import ReadScore, ScoreReader
    from pelton.producers.threaded_client import RequestReplyClient

__all__ = [
    "AsyncRequestReplyClient",
    "CallCounts",
    "CallOptions",
    "Delivered",
    "EventProducer",
    "ReadScore",
    "RequestReplyClient",
    "ScoreReader",
]

_HOMES = {
    "AsyncRequestReplyClient": "async_client",
    "CallCounts": "call_counts",
    "CallOptions": "call_options",
    "Delivered": "event_producer",
    "EventProducer": "event_producer",
    "ReadScore": "score_reader",
    "RequestReplyClient": "threaded_client",
    "ScoreReader": "score_reader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"pelton.producers.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
