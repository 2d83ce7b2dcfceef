"""What an input schema accepts is what a JSON Schema validator accepts under the schema it publishes."""

import itertools
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pelton.errors import PackageError
from pelton.schemas.codec import EventCodec
from pelton.schemas.input_schema import InputSchema
from pelton.schemas.rejection import Rejection

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Ride",
    "type": "object",
    "required": ["id", "row", "level", "maybe"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "maxLength": 4, "description": "who"},
        "row": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3},
        "level": {"type": "integer", "minimum": 0, "maximum": 10},
        "maybe": {"type": ["number", "null"]},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "kind": {"enum": ["a", "b"], "type": "string"},
        "flag": {"type": "boolean", "default": None},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    },
}
GOOD = {"id": "a", "row": [1, 2.5], "level": 3, "maybe": 1.5}
VALUES: tuple[Any, ...] = (
    None, True, False, "", "a", "b", "abcd", "abcde", "1", 0, 1, 5, 10, 11, -1, 0.5, 1.0, 2.0, 1e300, 2**70, [],
    [1], [1, 2], [1, 2, 3.5], [1, 2, 3, 4], [1, None], [1, "2"], [[1], [2, 3]], [[1.5]], [["1"]], {}, {"a": 1},
)  # fmt: skip


def decode(schema: dict[str, Any], *events: Any) -> list[Any]:
    codec = EventCodec(InputSchema.from_json_schema(schema, "ride"))
    return list(codec.decode([json.dumps(event).encode() for event in events]))


def test_accepts_exactly_what_the_published_schema_accepts() -> None:
    published = InputSchema.from_json_schema(SCHEMA, "ride").json_schema
    events = [{**GOOD, field: value} for field, value in itertools.product(SCHEMA["properties"], VALUES)]
    events += [{name: value for name, value in GOOD.items() if name != left_out} for left_out in GOOD]
    validator = Draft202012Validator(published)
    accepted = [not isinstance(event, Rejection) for event in decode(SCHEMA, *events)]
    expected = [validator.is_valid(event) for event in events]
    wrong = [event for event, is_in, ought in zip(events, accepted, expected, strict=True) if is_in != ought]
    assert wrong == []
    assert 0 < sum(accepted) < len(events)


def test_published_schema_is_a_schema_and_leaves_the_given_one_alone() -> None:
    before = json.dumps(SCHEMA)
    Draft202012Validator.check_schema(InputSchema.from_json_schema(SCHEMA, "ride").json_schema)
    assert json.dumps(SCHEMA) == before


def test_absent_and_null_optional_fields_are_none() -> None:
    absent, null = decode(SCHEMA, GOOD, {**GOOD, "share": None, "flag": None})
    assert (absent.share, absent.kind, absent.flag, absent.grid) == (None, None, None, None)
    assert (null.share, null.flag) == (None, None)


def test_numbers_become_floats_and_integers_stay() -> None:
    (event,) = decode(SCHEMA, {**GOOD, "row": [1, 2], "level": 4})
    assert [type(number) for number in event.row] == [float, float]
    assert type(event.level) is int


def test_whole_floats_are_integers_as_json_schema_says() -> None:
    (event,) = decode(SCHEMA, {**GOOD, "level": 4.0, "maybe": 7.0, "grid": [[1.0, 2]]})
    assert (event.level, type(event.level), event.grid) == (4, int, [[1, 2]])
    assert type(event.maybe) is float


def test_unknown_fields_are_ignored_unless_forbidden() -> None:
    extra = {**GOOD, "other": {"deep": [1]}}
    assert decode(SCHEMA, extra)[0].id == "a"
    (refused,) = decode({**SCHEMA, "additionalProperties": False}, extra)
    assert "other" in refused.reason


def test_names_that_are_no_identifiers_get_attributes() -> None:
    schema = InputSchema.from_json_schema(
        {"type": "object", "properties": {name: {"type": "number"} for name in ("dep-time", "class", "1st", "ok")}}, "x"
    )
    event = schema.decoder.decode(b'{"dep-time":1,"class":2,"1st":3,"ok":4}')
    assert (event.dep_time, event.class_, event._1st, event.ok) == (1, 2, 3, 4)
    assert [schema.attribute(name) for name in ("dep-time", "class", "1st", "ok")] == [
        "dep_time",
        "class_",
        "_1st",
        "ok",
    ]


def test_events_cannot_be_changed_by_a_model() -> None:
    (event,) = decode(SCHEMA, GOOD)
    with pytest.raises(AttributeError):
        event.level = 9


def test_type_of_leaves_null_out() -> None:
    schema = InputSchema.from_json_schema(SCHEMA, "ride")
    assert [schema.type_of(name) for name in ("id", "maybe", "flag", "row")] == ["string", "number", "boolean", "array"]


def number(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": {"type": "number", **more}}}


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"type": "array"}, "ride"),
        ([], "ride"),
        ({"type": "object"}, "ride.properties"),
        ({"type": "object", "properties": {}}, "ride.properties"),
        ({**number(), "required": ["y"]}, "'y'"),
        ({**number(), "required": "x"}, "ride.required"),
        ({**number(), "patternProperties": {}}, "ride.patternProperties"),
        ({**number(), "additionalProperties": {"type": "string"}}, "ride.additionalProperties"),
        (number(multipleOf=2), "ride.properties.x.multipleOf"),
        (number(maxLength=2), "ride.properties.x.maxLength"),
        (number(default=3), "ride.properties.x.default"),
        (number(minimum="low"), "ride.properties.x"),
        (number(type=["number", "string"]), "ride.properties.x.type"),
        (number(type="object"), "ride.properties.x.type"),
        (number(type="null"), "ride.properties.x.type"),
        ({"type": "object", "properties": {"x": 5}}, "ride.properties.x"),
        ({"type": "object", "properties": {"x": {"$ref": "#/y"}}}, "ride.properties.x.type"),
        (number(type="string", enum=["a", 1]), "ride.properties.x.enum"),
        (number(type="string", enum=[]), "ride.properties.x.enum"),
        (number(type="array"), "ride.properties.x.items"),
        (number(type="array", items={"type": "number", "format": "f", "pattern": "x"}), "x.items.pattern"),
        (number(type="array", items={"type": "number"}, minItems=-1), "ride.properties.x"),
        ({"type": "object", "properties": {"__dict__": {"type": "number"}}}, "ride.properties.__dict__"),
        ({"type": "object", "properties": {"a-b": {"type": "number"}, "a_b": {"type": "number"}}}, "a_b"),
        ({"type": "object", "properties": {1: {"type": "number"}}}, "1"),
    ],
)
def test_outside_the_subset_is_refused_by_its_path(schema: Any, named: str) -> None:
    with pytest.raises(PackageError) as refused:
        InputSchema.from_json_schema(schema, "ride")
    assert named in str(refused.value)
