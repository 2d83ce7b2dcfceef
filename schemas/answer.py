"""From what a model gave for a request to the value of its reply."""

from collections.abc import Sequence
from typing import Any

import msgspec

from pelton.schemas.codes import Code
from pelton.schemas.rejection import MAX_REASON, Rejection, printable
from pelton.schemas.reply import encode_data, encode_error
from pelton.schemas.score import write_score

_HIDDEN = {Code.MODEL_ERROR: "the model failed on this input", Code.INTERNAL: "a fault of the server's own"}
"""Codes whose reason would show the inside of model or server to a stranger; the worker's log has it."""


def answer_of(outcome: Sequence[Any] | Rejection, trace_id: str, *, single: bool) -> tuple[Code, bytes]:
    """Return the code and the value of the reply to a request, given the scores of its inputs or why there are none.

    An answer is whole or none: the first input without a score decides.
    """
    if isinstance(outcome, Rejection):
        return _refusal(outcome, trace_id, "")
    written: list[bytes] = []
    for row, score in enumerate(outcome):
        each = write_score(score)
        if isinstance(each, Rejection):
            return _refusal(each, trace_id, "" if single else f"inputs[{row}]: ")
        written.append(each)
    data = written[0] if single else b"[" + b",".join(written) + b"]"
    return Code.OK, encode_data(msgspec.Raw(data), trace_id)


def _refusal(rejection: Rejection, trace_id: str, where: str) -> tuple[Code, bytes]:
    reason = _HIDDEN.get(rejection.code, rejection.reason)
    # What a caller wrote, of any length, may be a part of the reason.
    return rejection.code, encode_error(rejection.code, printable(where + reason, MAX_REASON), trace_id)
