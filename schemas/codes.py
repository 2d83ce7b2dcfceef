"""The closed set of outcome codes: what they mean, their HTTP status, whether they end in a dead letter."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field


class Code(StrEnum):
    """The outcome of one record or one request; the same word on every road into Pelton."""

    OK = "ok"
    MALFORMED = "malformed"
    INVALID = "invalid"
    NOT_FINITE = "not_finite"
    TOO_LARGE = "too_large"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    UNKNOWN_MODEL = "unknown_model"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    NOT_READY = "not_ready"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    MODEL_ERROR = "model_error"
    INTERNAL = "internal"


class CodeInfo(BaseModel):
    """What one code means to the people and programs that meet it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    http: int = Field(description="HTTP status that carries this code.", ge=100, le=599)
    dead_letter: bool = Field(description="Whether an event that ends so is written to the dead-letter topic.")
    retriable: bool = Field(description="Whether the same request can succeed later, unchanged.")
    when: str = Field(description="When this code is given.")


def _info(http: int, when: str, *, dead_letter: bool = False, retriable: bool = False) -> CodeInfo:
    return CodeInfo(http=http, dead_letter=dead_letter, retriable=retriable, when=when)


CODES: Mapping[Code, CodeInfo] = MappingProxyType(
    {
        Code.OK: _info(200, "a score was made"),
        Code.MALFORMED: _info(400, "not JSON, empty, not an object, wrong encoding", dead_letter=True),
        Code.INVALID: _info(422, "the input schema is violated; the fields are named", dead_letter=True),
        Code.NOT_FINITE: _info(422, "NaN, infinity, or beyond the model's dtype", dead_letter=True),
        Code.TOO_LARGE: _info(413, "rows, tokens or bytes over the limit, in or out", dead_letter=True),
        Code.UNAUTHORIZED: _info(401, "key or token missing or wrong"),
        Code.FORBIDDEN: _info(403, "the caller is known, but not allowed to do this"),
        Code.UNKNOWN_MODEL: _info(404, "model or version not served", dead_letter=True),
        Code.RATE_LIMITED: _info(429, "the caller's bucket is empty; see Retry-After", retriable=True),
        Code.OVERLOADED: _info(503, "the queue is full; Retry-After comes from drain time", retriable=True),
        Code.NOT_READY: _info(503, "loading, draining, or no partition assigned", retriable=True),
        Code.EXPIRED: _info(504, "the deadline passed before or during the work", retriable=True),
        Code.CANCELLED: _info(499, "the caller left or cancelled"),
        Code.MODEL_ERROR: _info(500, "the model raised on this record alone, or gave a bad score", dead_letter=True),
        Code.INTERNAL: _info(500, "Pelton's own fault; only a trace id is given", retriable=True),
    }
)
"""Every code with its meaning; complete, and the same for Kafka and HTTP."""
