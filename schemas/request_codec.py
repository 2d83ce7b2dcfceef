"""From the bytes of a request to the events it asks about, or to the reason why there are none."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from pelton.schemas.codec import EventCodec
from pelton.schemas.codes import Code
from pelton.schemas.refusal import reject
from pelton.schemas.rejection import Rejection


@dataclass(frozen=True, slots=True)
class Question:
    """The events that one request asks about; a `single` one is answered by a score, others by a list."""

    events: list[Any]
    single: bool


class _Body(msgspec.Struct):
    inputs: msgspec.Raw
    model: str | None = None
    params: dict[str, Any] = {}


class RequestCodec:
    """Decodes the values of requests by the model's input schema; no value can make it raise."""

    def __init__(self, events: EventCodec, served: Collection[str], max_inputs: int) -> None:
        self._events, self._served, self._max_inputs = events, frozenset(served), max_inputs
        self._body = msgspec.json.Decoder(_Body)
        self._list = msgspec.json.Decoder(list[msgspec.Raw])

    def decode(self, value: bytes | None) -> Question | Rejection:
        """Return the question that a value holds, or why it is none: with several inputs, the first at fault counts."""
        value = value or b""
        try:
            if not value.isascii():
                value.decode("utf-8")  # the quick decoder does not look at what it skips
            body = self._body.decode(value)
            single = not bytes(body.inputs).lstrip().startswith(b"[")
            inputs = [body.inputs] if single else self._list.decode(body.inputs)
        except Exception as error:  # noqa: BLE001 - one request must never fail its neighbours
            return reject(value, error)
        if body.model is not None and body.model not in self._served:
            return _refused(Code.UNKNOWN_MODEL, f"{body.model!r} is not served here")
        if not inputs:
            return _refused(Code.INVALID, "inputs: is an empty list")
        if len(inputs) > self._max_inputs:
            return _refused(Code.TOO_LARGE, f"inputs: {len(inputs)} events, and {self._max_inputs} are taken at most")
        events = self._events.decode([bytes(each) for each in inputs])
        for row, event in enumerate(events):
            if isinstance(event, Rejection):
                where = "inputs" if single else f"inputs[{row}]"
                return Rejection(event.code, f"{where}: {event.reason}", event.stage, event.exception)
        return Question(events, single)


def _refused(code: Code, reason: str) -> Rejection:
    return Rejection(code, reason, "decode", "Refused")
