"""What the sink topic holds: one score for one event."""

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pelton.schemas.codes import Code
from pelton.schemas.finite import is_finite
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection


class Source(BaseModel):
    """Where the scored event lies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str = Field(description="Input topic.")
    partition: int = Field(description="Partition of the input topic.", ge=0)
    offset: int = Field(description="Offset in that partition.", ge=0)


class Score(BaseModel):
    """The value of a record in the sink topic; no clock and no host in it, so a repeat gives the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    event_id: str = Field(description="Id of the event; equal for every repeat of it.")
    model: str = Field(description="Name of the model.")
    version: str = Field(description="Version of the model and the start of its content hash: `1@0a1b2c3d4e5f`.")
    source: Source = Field(description="Where the event lies.")
    score: JsonValue = Field(description="What the model gave; every number in it is finite.")
    event_time: str | int | float | None = Field(
        default=None, description="Time of the event; there only when the input schema declares one."
    )


class ScoreEncoder:
    """Writes scores as strict JSON, a column at a time."""

    def __init__(self, model: str, version: str) -> None:
        self._named = _quoted({"model": model, "version": version})
        self._patterns: dict[tuple[str, int, bool], bytes] = {}

    def encode(
        self, records: Records, ids: Sequence[str], scores: Sequence[Any], times: Sequence[Any] | None = None
    ) -> list[bytes | Rejection]:
        """Return one value of the sink for each record, in order.

        A score that is a `Rejection` already is handed through; one that is not finite, or cannot be written as
        JSON, becomes one. Raises ValueError when the columns differ in length.
        """
        pattern = self._pattern(records.topic, records.partition, times is not None)
        timed = () if times is None else (_lines(times),)
        written = _write_quickly(scores)
        if written is not None:
            rows = zip(_lines(ids), records.offsets, *timed, written, strict=True)
            return [pattern % row for row in rows]
        each = zip(_lines(ids), records.offsets, *timed, map(write_score, scores), strict=True)
        return [row[-1] if isinstance(row[-1], Rejection) else pattern % row for row in each]

    def _pattern(self, topic: str, partition: int, timed: bool) -> bytes:
        pattern = self._patterns.get((topic, partition, timed))
        if pattern is None:
            source = _quoted({"topic": topic, "partition": partition})
            time = b',"event_time":%b' if timed else b""
            head = b'{"event_id":%b,' + self._named + b',"source":{' + source
            pattern = head + b',"offset":%d}' + time + b',"score":%b}'
            self._patterns[topic, partition, timed] = pattern
        return pattern


_KINDS = frozenset({float, int, bool, str, list, dict})
"""Kinds of scores that are JSON's own, whatever is in them."""


def _plain(value: Any) -> Any:
    """Turn a numpy or torch scalar into a Python one."""
    if callable(item := getattr(value, "item", None)):
        return item()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def _quoted(fields: dict[str, Any]) -> bytes:
    """Return the members of a JSON object without its braces, safe inside a `%` pattern."""
    return _encoder.encode(fields)[1:-1].replace(b"%", b"%%")


def _lines(column: Sequence[Any]) -> list[bytes]:
    lines = _encoder.encode_lines(column).split(b"\n")
    lines.pop()
    return lines


def _write_quickly(scores: Sequence[Any]) -> list[bytes] | None:
    """Return the scores as JSON, or None when each needs a look: msgspec writes NaN and infinity as null."""
    if not _KINDS.issuperset(map(type, scores)):
        return None
    try:
        text = _encoder.encode_lines(scores)
    except (TypeError, ValueError, RecursionError):
        return None
    if b"null" in text:
        return None
    lines = text.split(b"\n")
    lines.pop()
    return lines


def write_score(score: Any) -> bytes | Rejection:
    """Return one score as strict JSON, or why it cannot be written; a `Rejection` is handed through."""
    if isinstance(score, Rejection):
        return score
    try:
        plain = msgspec.to_builtins(score, enc_hook=_plain)
        if plain is None or not is_finite(plain):
            return _bad(f"the model's score is {'missing' if plain is None else 'not finite'}: {score!r}")
        return _encoder.encode(plain)
    except Exception as error:  # noqa: BLE001 - a score may be any object, with any fault
        return Rejection.of(error, Code.MODEL_ERROR, "finish")


def _bad(reason: str) -> Rejection:
    return Rejection(Code.MODEL_ERROR, reason, "finish", "pelton.errors.ModelError")
