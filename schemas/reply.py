"""What an answered caller reads from its reply topic."""

from typing import Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from pelton.schemas.codes import Code


class Reply(BaseModel):
    """The value of a record in a reply topic; the correlation id of the request is in its headers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: Code = Field(description="What became of the request.")
    data: JsonValue = Field(default=None, description="The score, or a list of scores for a list of inputs; with `ok`.")
    error: str | None = Field(default=None, description="Why there is no score, on one line; with every other code.")
    trace_id: str = Field(default="", description="What to quote when asking about this answer.")

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.code is Code.OK) == (self.error is not None):
            raise ValueError("an answer has data if its code is ok, and an error if it is not")
        return self


_encoder = msgspec.json.Encoder()


def encode_data(data: Any, trace_id: str) -> bytes:
    """Return the value of a reply that holds a score or a list of scores, plain and finite."""
    return _encoder.encode({"code": Code.OK.value, "data": data, "trace_id": trace_id})


def encode_error(code: Code, error: str, trace_id: str) -> bytes:
    """Return the value of a reply that says why there is no score."""
    return _encoder.encode({"code": code.value, "error": error, "trace_id": trace_id})


def decode_reply(value: bytes | None) -> Reply:
    """Return the reply that a value holds; raises ValueError when it is none."""
    try:
        return Reply.model_validate_json(value or b"")
    except ValidationError as error:
        raise ValueError(f"not a reply: {error.errors()[0]['msg']}") from None
