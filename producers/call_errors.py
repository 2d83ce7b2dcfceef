"""Which error a caller gets for each code."""

from collections.abc import Mapping
from types import MappingProxyType

from pelton.errors import (
    CallCancelled,
    CallError,
    CallExpired,
    CallRefused,
    InvalidRequest,
    ModelFailed,
    Overloaded,
    ServerFault,
)
from pelton.schemas.codes import Code
from pelton.schemas.reply import Reply

ERRORS: Mapping[Code, type[CallError]] = MappingProxyType(
    {
        Code.MALFORMED: InvalidRequest,
        Code.INVALID: InvalidRequest,
        Code.NOT_FINITE: InvalidRequest,
        Code.TOO_LARGE: InvalidRequest,
        Code.UNAUTHORIZED: CallRefused,
        Code.FORBIDDEN: CallRefused,
        Code.UNKNOWN_MODEL: CallRefused,
        Code.RATE_LIMITED: Overloaded,
        Code.OVERLOADED: Overloaded,
        Code.NOT_READY: Overloaded,
        Code.EXPIRED: CallExpired,
        Code.CANCELLED: CallCancelled,
        Code.MODEL_ERROR: ModelFailed,
        Code.INTERNAL: ServerFault,
    }
)
"""The class of each code but `ok`; whether it is retriable is as the table of codes says."""


def error_of(reply: Reply) -> CallError:
    """Return the error that a reply without a score stands for."""
    return ERRORS[reply.code](f"{reply.code}: {reply.error}", code=reply.code, trace_id=reply.trace_id)
