"""Why a value could not be decoded: the slow look, taken only at records that failed the quick one."""

import json
import math
import re
from typing import Any

import msgspec

from pelton.schemas.codes import Code
from pelton.schemas.input_types import INT_MAX, INT_MIN
from pelton.schemas.rejection import Rejection, class_name

_MESSAGE = re.compile(r"(?P<why>.*?)(?: - at `(?P<path>.*)`)?", re.DOTALL)
_OUT_OF_RANGE = ("out of range", f">= {INT_MIN}", f"<= {INT_MAX}")
_MOST_DIGITS = 400


def reject(value: bytes, error: Exception) -> Rejection:
    """Return the rejection of `value`, for which the decoder raised `error`; never raises.

    Not JSON, or not an object, is `malformed`; NaN, infinity or a number too big for its type is `not_finite`;
    all else is a violation of the schema, `invalid`, with the field's path.
    """
    if not value:
        return _rejection(Code.MALFORMED, "the value is empty", error)
    try:
        document = json.loads(value.decode("utf-8"), parse_int=_integer)
    except UnicodeDecodeError as fault:
        return _rejection(Code.MALFORMED, f"not UTF-8: {fault.reason} at byte {fault.start}", fault)
    except RecursionError as fault:
        return _rejection(Code.MALFORMED, "nested too deeply", fault)
    except ValueError as fault:
        return _rejection(Code.MALFORMED, f"not JSON: {fault}", fault)
    if not isinstance(document, dict):
        return _rejection(Code.MALFORMED, f"not an object but {_kind(document)}", error)
    return _reject_object(document, error)


def with_whole_numbers(value: bytes) -> bytes:
    """Return the JSON `value` with 12.0 written as 12; raises ValueError for NaN and infinity."""
    return msgspec.json.encode(json.loads(value, parse_float=_whole, parse_constant=_whole, parse_int=_finite_int))


def _whole(text: str) -> int | float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return int(number) if number.is_integer() else number


def _finite_int(digits: str) -> int:
    if len(digits) >= _MOST_DIGITS:
        raise ValueError("the number has too many digits")
    return int(digits)


def _reject_object(document: dict[str, Any], error: Exception) -> Rejection:
    if isinstance(error, msgspec.ValidationError):
        match = _MESSAGE.fullmatch(str(error))
        why, path = (match["why"], match["path"]) if match else (str(error), None)
        code = Code.NOT_FINITE if any(words in why for words in _OUT_OF_RANGE) else Code.INVALID
        return _rejection(code, f"{_field(path)}{why.replace('`', '')}", error)
    if isinstance(error, RecursionError):
        return _rejection(Code.MALFORMED, "nested too deeply", error)
    if (path := _not_finite(document, "")) is not None:
        return _rejection(Code.NOT_FINITE, f"{path}: not a finite number", error)
    return _rejection(Code.MALFORMED, f"not JSON: {error}", error)


def _rejection(code: Code, reason: str, error: Exception) -> Rejection:
    return Rejection(code, reason, "decode", class_name(error))


def _integer(digits: str) -> int | float:
    # Python refuses to read integers of more than 4,300 digits, and takes quadratic time below that.
    return int(digits) if len(digits) < _MOST_DIGITS else math.inf


def _kind(document: Any) -> str:
    if document is None:
        return "null"
    kinds = {list: "an array", str: "a string", bool: "a boolean"}
    return kinds.get(type(document), "a number")


def _field(path: str | None) -> str:
    return "" if path is None or path == "$" else f"{path.removeprefix('$').removeprefix('.')}: "


def _not_finite(node: Any, path: str) -> str | None:
    """Return the path of the first number in `node` that is not finite."""
    if isinstance(node, float):
        return None if math.isfinite(node) else path
    if isinstance(node, dict):
        children = ((f"{path}.{key}".lstrip("."), child) for key, child in node.items())
    elif isinstance(node, list):
        children = ((f"{path}[{row}]", child) for row, child in enumerate(node))
    else:
        return None
    return next((found for name, child in children if (found := _not_finite(child, name)) is not None), None)
