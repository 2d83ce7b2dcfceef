"""The input schema of a model: a subset of JSON Schema 2020-12, compiled to a msgspec decoder.

The subset: an object of `properties` with `required`; each property a string, number, integer, boolean or array
(of these), nullable by `["number", "null"]`; `enum` of strings; `minimum`, `maximum`, `exclusiveMinimum`,
`exclusiveMaximum`, `minLength`, `maxLength`, `minItems`, `maxItems`. Anything else is refused by its path:
what is not checked must not look as if it were.
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pelton.errors import PackageError
from pelton.schemas.input_types import ANNOTATIONS, build_type

_ROOT_KEYS = ANNOTATIONS | {"type", "properties", "required", "additionalProperties"}


@dataclass(frozen=True, slots=True)
class InputSchema:
    """A compiled input schema: events decode into `struct`, whose attributes are the properties.

    An optional property that is absent, or null, is None. Properties the schema does not name are ignored,
    unless `additionalProperties` is false. `json_schema` is the schema with exactly that meaning.
    """

    name: str
    struct: type[msgspec.Struct]
    decoder: "msgspec.json.Decoder[Any]"
    json_schema: dict[str, Any]
    attributes: Mapping[str, str]

    @classmethod
    def from_json_schema(cls, schema: dict[str, Any], name: str) -> "InputSchema":
        """Compile `schema`; `name` is the class name and leads every path in an error.

        Raises PackageError, with the path, for what is wrong or outside the subset.
        """
        properties, required = _check_root(schema, name)
        attributes = _attributes(properties, name)
        fields: list[Any] = []
        published: dict[str, Any] = {}
        for prop, sub in properties.items():
            kind, published[prop] = build_type(sub, f"{name}.properties.{prop}", optional=prop not in required)
            fields.append((attributes[prop], kind) if prop in required else (attributes[prop], kind, None))
        struct = msgspec.defstruct(
            _class_name(name),
            fields,
            kw_only=True,
            frozen=True,
            gc=False,
            rename={attribute: prop for prop, attribute in attributes.items()},
            forbid_unknown_fields=schema.get("additionalProperties") is False,
        )
        return cls(name, struct, msgspec.json.Decoder(struct), {**schema, "properties": published}, attributes)

    def attribute(self, prop: str) -> str:
        """Return the attribute of `struct` that holds the property `prop`; KeyError when there is none."""
        return self.attributes[prop]

    def type_of(self, prop: str) -> str:
        """Return the JSON type of `prop`, null left out; KeyError when there is no such property."""
        kinds = self.json_schema["properties"][prop]["type"]
        return next(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null")


def _check_root(schema: dict[str, Any], name: str) -> tuple[dict[str, Any], set[str]]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise PackageError(f"{name}: the input schema must be an object schema (type: object)")
    if extra := sorted(set(schema) - _ROOT_KEYS):
        raise PackageError(f"{name}.{extra[0]}: not in the supported subset of JSON Schema")
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not properties:
        raise PackageError(f"{name}.properties: must name at least one property")
    if not isinstance(required, list) or not all(isinstance(item, str) for item in required):
        raise PackageError(f"{name}.required: must be a list of property names")
    if unknown := sorted(set(required) - set(properties)):
        raise PackageError(f"{name}.required: {unknown[0]!r} is not among the properties")
    if not isinstance(schema.get("additionalProperties", True), bool):
        raise PackageError(f"{name}.additionalProperties: only true or false is supported")
    return properties, set(required)


def _attributes(properties: Mapping[str, Any], name: str) -> dict[str, str]:
    taken: dict[str, str] = {}
    for prop in properties:
        attribute = _attribute(prop, name)
        if attribute in taken:
            raise PackageError(
                f"{name}.properties.{prop}: would share the attribute {attribute} with {taken[attribute]}"
            )
        taken[attribute] = prop
    return {prop: attribute for attribute, prop in taken.items()}


def _attribute(prop: Any, name: str) -> str:
    if not isinstance(prop, str) or not prop:
        raise PackageError(f"{name}.properties: {prop!r} is not a property name")
    attribute = re.sub(r"\W", "_", prop)
    if attribute[0].isdigit():
        attribute = f"_{attribute}"
    if attribute.startswith("__"):
        raise PackageError(f"{name}.properties.{prop}: names may not begin with two underscores")
    return f"{attribute}_" if keyword.iskeyword(attribute) else attribute


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"\W+|_", name) if part) or "Input"
