"""The value of a request: strict JSON, refused here when it cannot be."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pelton.errors import InvalidRequest
from pelton.schemas.codes import Code
from pelton.schemas.finite import is_finite


def _plain(value: Any) -> Any:
    """Turn arrays, tensors and their scalars into lists and numbers of Python's."""
    if callable(tolist := getattr(value, "tolist", None)):
        return tolist()
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def encode_request(inputs: Any, model: str | None = None, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the value of a request for `inputs`: one event, or a list of them.

    Arrays and tensors become lists. Raises InvalidRequest: `not_finite` for NaN and infinity, which JSON does not
    have, `malformed` for what JSON cannot hold.

        encode_request({"amount": 250.0})  # b'{"inputs":{"amount":250.0}}'
    """
    if inputs is None:
        raise InvalidRequest("malformed: there are no inputs", code=Code.MALFORMED)
    body: dict[str, Any] = {"inputs": inputs}
    if model is not None:
        body["model"] = model
    if params:
        body["params"] = params
    return encode_value(body)


def encode_value(body: Any) -> bytes:
    """Return strict JSON; raises InvalidRequest for what is not finite or no JSON."""
    try:
        value = _encoder.encode(body)
        # msgspec writes NaN and infinity as null: only a value that holds a null is looked at number by number.
        if b"null" in value and not is_finite(msgspec.to_builtins(body, enc_hook=_plain)):
            raise InvalidRequest("not_finite: a number is NaN or infinite", code=Code.NOT_FINITE)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"malformed: {error}", code=Code.MALFORMED) from error
    return value


def as_bytes(text: str | bytes | None) -> bytes | None:
    """Return text in UTF-8, and bytes as they are; raises InvalidRequest for text that UTF-8 does not have."""
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise InvalidRequest(f"malformed: no UTF-8: {error.reason}", code=Code.MALFORMED) from error
