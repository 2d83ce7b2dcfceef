"""What is on the wire and in the settings; imports nothing else of Pelton but its errors."""

from importlib import import_module
from typing import Any

_HOMES = {
    "CODES": "codes",
    "Code": "codes",
    "CodeInfo": "codes",
    "DeadLetterHeaders": "dead_letter",
    "Event": "event",
    "EventCodec": "codec",
    "InputSchema": "input_schema",
    "KafkaProperties": "kafka_properties",
    "Message": "records",
    "Records": "records",
    "Rejection": "rejection",
    "Reply": "reply",
    "Request": "request",
    "RequestHead": "request",
    "Score": "score",
    "ScoreEncoder": "score",
    "Settings": "settings",
    "TOMBSTONE": "rejection",
    "Tombstone": "rejection",
    "dead_letter_headers": "dead_letter",
    "event_ids": "identity",
    "event_times": "identity",
    "load_settings": "settings",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - one list, kept in order by itself


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
