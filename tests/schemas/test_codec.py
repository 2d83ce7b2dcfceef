"""Bad values become rejections with the right code, and never touch their neighbours."""

import json
from typing import Any

import pytest

from pelton.errors import PackageError
from pelton.schemas.codec import EventCodec
from pelton.schemas.codes import Code
from pelton.schemas.input_schema import InputSchema
from pelton.schemas.rejection import TOMBSTONE, Rejection

SCHEMA = InputSchema.from_json_schema(
    {
        "type": "object",
        "required": ["id", "x"],
        "properties": {
            "id": {"type": "string"},
            "x": {"type": "array", "items": {"type": "number"}},
            "n": {"type": "integer"},
            "at": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "few": {"type": "integer", "maximum": 9},
        },
    },
    "event",
)
CODEC = EventCodec(SCHEMA, "id", "at")
GOOD = b'{"id":"a","x":[1,2.5]}'
DEEP = 100_000


def only(value: bytes) -> Rejection:
    """Decode `value` between two good ones, which must stay good."""
    first, event, last = CODEC.decode([GOOD, value, GOOD])
    for neighbour in (first, last):
        assert (neighbour.id, neighbour.x) == ("a", [1.0, 2.5])  # type: ignore[union-attr]
    assert isinstance(event, Rejection)
    assert event.stage == "decode"
    assert event.attempts == 1
    assert event.exception
    return event


def test_good_values_decode_in_order() -> None:
    values = [json.dumps({"id": f"e{row}", "x": [row, -row / 2]}).encode() for row in range(50)]
    events: list[Any] = list(CODEC.decode(values))
    assert [event.id for event in events] == [f"e{row}" for row in range(50)]
    assert [event.x for event in events] == [[float(row), -row / 2] for row in range(50)]


def test_no_values_decode_to_no_events() -> None:
    assert CODEC.decode([]) == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"not json", "not JSON"),
        (b"", "empty"),
        (b"   ", "not JSON"),
        (b'{"a":', "not JSON"),
        (b"[1,2]", "an array"),
        (b'"text"', "a string"),
        (b"7", "a number"),
        (b"true", "a boolean"),
        (b'{"id":"a","x":[]} {}', "not JSON"),
        (b"{'id':'a','x':[]}", "not JSON"),
        (b'{"id":"a","x":[],}', "not JSON"),
        (b'{"id":"a","x":[nan]}', "not JSON"),
        (b'{"id":"a\x01","x":[]}', "not JSON"),
        (b'{"id":"\\ud800","x":[]}', "not JSON"),
        (b"\xef\xbb\xbf" + GOOD, "not JSON"),
        (GOOD.decode().encode("utf-16"), "not UTF-8"),
    ],
)
def test_b03_what_is_not_json_is_malformed(value: bytes, reason: str) -> None:
    rejection = only(value)
    assert rejection.code is Code.MALFORMED
    assert reason in rejection.reason


@pytest.mark.parametrize(
    "value",
    [b'{"id":"\xff","x":[]}', b'{"id":"a","x":[],"other":"\xc3\x28"}', b'{"id":"a","x":[],"\xff":1}', b"\x00\x83\xff"],
)
def test_b33_bytes_that_are_not_utf8_are_malformed_in_any_field(value: bytes) -> None:
    rejection = only(value)
    assert rejection.code is Code.MALFORMED
    assert rejection.reason.startswith("not UTF-8")


def test_b33_utf8_that_is_not_ascii_passes() -> None:
    text = '{"id":"Zürich ✈ 🚀","x":[],"other":"北京"}'.encode()
    cut = text[:-4] + b'"}'  # the last character loses its last byte
    first, second = CODEC.decode([text, cut])
    assert first.id == "Zürich ✈ 🚀"  # type: ignore[union-attr]
    assert isinstance(second, Rejection)


def test_b11_null_empty_and_json_null_are_three_cases() -> None:
    tombstone, empty, null = CODEC.decode([None, b"", b"null"])
    assert tombstone is TOMBSTONE
    assert isinstance(empty, Rejection)
    assert (empty.code, empty.reason) == (Code.MALFORMED, "the value is empty")
    assert isinstance(null, Rejection)
    assert (null.code, null.reason) == (Code.MALFORMED, "not an object but null")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (b'{"id":"a","x":[1,NaN]}', "x[1]"),
        (b'{"id":"a","x":[Infinity]}', "x[0]"),
        (b'{"id":"a","x":[-Infinity,1]}', "x[0]"),
        (b'{"id":"a","x":[1e400]}', "x[0]"),
        (b'{"id":"a","x":[-1e400]}', "x[0]"),
        (b'{"id":"a","x":[1' + b"0" * 400 + b"]}", "x[0]"),
        (b'{"id":"a","x":[1' + b"0" * 10_000 + b"]}", "x[0]"),
        (b'{"id":"a","x":[],"n":1' + b"0" * 10_000 + b"}", "n"),
        (b'{"id":"a","x":[],"n":1e400}', "n"),
        (b'{"id":"a","x":[],"n":9223372036854775808}', "n"),
        (b'{"id":"a","x":[],"n":-9223372036854775809}', "n"),
        (b'{"id":"a","x":[],"other":{"deep":[0,NaN]}}', "other.deep[1]"),
    ],
)
def test_b12_numbers_that_are_not_finite(value: bytes, path: str) -> None:
    rejection = only(value)
    assert rejection.code is Code.NOT_FINITE
    assert rejection.reason.startswith(f"{path}: ")


def test_b12_the_largest_numbers_pass() -> None:
    value = b'{"id":"a","x":[1.7976931348623157e308,1e-400],"n":9223372036854775807}'
    (event,) = CODEC.decode([value])
    assert (event.x, event.n) == ([1.7976931348623157e308, 0.0], 2**63 - 1)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (b"{}", "id"),
        (b'{"id":"a"}', "x"),
        (b'{"id":1,"x":[]}', "id: "),
        (b'{"id":null,"x":[]}', "id: "),
        (b'{"id":"a","x":"abc"}', "x: "),
        (b'{"id":"a","x":[1,"2"]}', "x[1]: "),
        (b'{"id":"a","x":[1,true]}', "x[1]: "),
        (b'{"id":"a","x":[],"n":1.5}', "n: "),
        (b'{"id":"a","x":[],"kind":"c"}', "kind: "),
        (b'{"id":"a","x":[],"few":10}', "few: "),
        (b'{"id":"a","x":[],"few":100000000000000000000}', "few: "),
        (b'{"id":"a","x":[],"n":1.0,"kind":"c"}', "kind: "),
    ],
)
def test_b24_schema_violations_name_the_field(value: bytes, named: str) -> None:
    rejection = only(value)
    assert rejection.code is Code.INVALID
    assert named in rejection.reason
    assert "$" not in rejection.reason


def test_not_json_weighs_more_than_a_violation_before_it() -> None:
    assert only(b'{"id":1,"x":[').code is Code.MALFORMED


@pytest.mark.parametrize(
    "value",
    [
        b"[" * DEEP,
        b'{"a":' * DEEP,
        b'{"id":"a","x":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"id":"a","x":[],"other":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"id":"a","x":[],"other":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    ],
)
def test_nesting_without_end_is_a_rejection(value: bytes) -> None:
    assert only(value).code in {Code.MALFORMED, Code.INVALID}


def test_of_a_name_given_twice_the_last_counts() -> None:
    (event,) = CODEC.decode([b'{"id":"a","x":[1],"id":"b"}'])
    assert event.id == "b"  # type: ignore[union-attr]


def test_b02_every_bad_value_is_alone_among_many() -> None:
    values: list[bytes | None] = [GOOD] * 400
    bad = {3: b"not json", 100: b'{"id":"a","x":"abc"}', 101: b'{"id":"a","x":[NaN]}', 102: None, 399: b""}
    for row, value in bad.items():
        values[row] = value
    events = CODEC.decode(values)
    assert {row for row, event in enumerate(events) if not isinstance(event, SCHEMA.struct)} == set(bad)


def test_reasons_are_bounded_and_printable_whatever_the_value() -> None:
    names = b'{"id":"a","x":[],"kind":"' + "\u202e\\n🚀".encode() * 5_000 + b'"}'
    rejection = only(names)
    assert len(rejection.reason) <= 500
    assert rejection.reason.isprintable()


@pytest.mark.parametrize(
    ("id_field", "time_field", "named"),
    [("nope", None, "'nope'"), ("x", None, "array"), (None, "nope", "'nope'"), (None, "x", "array")],
)
def test_declared_fields_must_exist_and_fit(id_field: str | None, time_field: str | None, named: str) -> None:
    with pytest.raises(PackageError, match=named):
        EventCodec(SCHEMA, id_field, time_field)


def test_declared_fields_are_known_by_their_attributes() -> None:
    assert (CODEC.id_attribute, CODEC.time_attribute) == ("id", "at")
    assert (EventCodec(SCHEMA).id_attribute, EventCodec(SCHEMA).time_attribute) == (None, None)
