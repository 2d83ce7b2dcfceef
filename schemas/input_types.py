"""From one property of an input schema to the msgspec type that checks it."""

from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec

from pelton.errors import PackageError

ANNOTATIONS = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "examples", "deprecated", "format", "unit"}
)
"""Keywords that say something to people and check nothing."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""Range of an integer property: what a tensor can hold."""

_SCALARS: dict[str, Any] = {"string": str, "number": float, "integer": int, "boolean": bool}
_BOUNDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}
_NUMERIC = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_KEYS: dict[str, frozenset[str]] = {
    "string": frozenset({"enum", "minLength", "maxLength"}),
    "number": _NUMERIC,
    "integer": _NUMERIC,
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems"}),
}


def build_type(schema: Any, path: str, *, optional: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return the msgspec type of one property and its schema as published; raises PackageError by path."""
    kind, nullable = _kind(schema, path)
    extra = sorted(set(schema) - _KEYS[kind] - ANNOTATIONS - {"type"} - _ignored(schema))
    if extra:
        raise PackageError(f"{path}.{extra[0]}: not in the supported subset of JSON Schema")
    nullable = nullable or optional
    schema = _within_int64(schema) if kind == "integer" else schema
    published = {**schema, "type": [kind, "null"] if nullable else kind}
    if kind == "array":
        inner, published["items"] = build_type(schema.get("items"), f"{path}.items")
        checked = _bounded(GenericAlias(list, (inner,)), schema, path)
    elif "enum" in schema:
        checked, published["enum"] = _enum(schema, path, nullable=nullable)
    else:
        checked = _bounded(_SCALARS[kind], schema, path)
    return (checked | None if nullable else checked), published


def _kind(schema: Any, path: str) -> tuple[str, bool]:
    if not isinstance(schema, dict):
        raise PackageError(f"{path}: must be a schema, such as {{type: number}}")
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    plain = [kind for kind in kinds if kind != "null"]
    if len(plain) != 1 or plain[0] not in _KEYS or len(kinds) > 2:
        raise PackageError(f"{path}.type: {declared!r} is not one of {', '.join(_KEYS)}, or such a type with 'null'")
    return plain[0], "null" in kinds


def _ignored(schema: dict[str, Any]) -> set[str]:
    return {"default"} if schema.get("default", ...) is None else set()


def _within_int64(schema: dict[str, Any]) -> dict[str, Any]:
    """Bound an integer that is not bounded yet, so that it fits into a tensor."""
    low = {} if "exclusiveMinimum" in schema else {"minimum": INT_MIN}
    high = {} if "exclusiveMaximum" in schema else {"maximum": INT_MAX}
    return low | high | schema


def _bounded(kind: Any, schema: dict[str, Any], path: str) -> Any:
    bounds = {name: schema[key] for key, name in _BOUNDS.items() if key in schema}
    if not bounds:
        return kind
    try:
        checked = Annotated[kind, msgspec.Meta(**bounds)]
        msgspec.json.Decoder(checked)
    except (TypeError, ValueError) as error:
        raise PackageError(f"{path}: {error}") from None
    return checked


def _enum(schema: dict[str, Any], path: str, *, nullable: bool) -> tuple[Any, list[Any]]:
    values = schema["enum"]
    words = [value for value in values if value is not None] if isinstance(values, list) else []
    if not words or not all(isinstance(word, str) for word in words):
        raise PackageError(f"{path}.enum: must be a list of strings")
    return Literal[tuple(words)], [*words, None] if nullable else words
