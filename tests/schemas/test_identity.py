"""An event's id is the first of field, CloudEvents headers, idempotency key and position."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Message

from pelton.schemas.codes import Code
from pelton.schemas.identity import event_ids, event_times
from pelton.schemas.records import Records
from pelton.schemas.rejection import TOMBSTONE, Rejection

Header = tuple[str, bytes | None]
CE = [("ce_source", b"/airline"), ("ce_id", b"77")]
BAD = Rejection(Code.INVALID, "a reason", "decode", "ValueError")


class Unreadable(Message):
    """A message with a header name that is not UTF-8, as the client shows it."""

    def headers(self) -> Any:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def block(events: list[Any], headers: Sequence[list[Header] | None] = ()) -> Records:
    given = [*headers, *[None] * (len(events) - len(headers))]
    offsets = list(range(40, 40 + len(events)))
    messages = [Message(topic="t", partition=3, offset=o, headers=h) for o, h in zip(offsets, given, strict=True)]
    return Records("t", 3, 0, messages, offsets, events, 0, 0.0)


def event(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**fields)


def test_id_field_comes_first() -> None:
    records = block([event(id="a"), event(id="b")], [CE, [("idempotency-key", b"k")]])
    assert event_ids(records, "id") == ["a", "b"]


def test_whole_numbers_are_ids_in_digits() -> None:
    assert event_ids(block([event(id=7), event(id=0)]), "id") == ["7", "0"]


@pytest.mark.parametrize("absent", [None, ""])
def test_record_without_its_id_field_falls_to_the_next_rule(absent: str | None) -> None:
    records = block([event(id="a"), event(id=absent), event(id=absent)], [None, CE])
    assert event_ids(records, "id") == ["a", "/airline/77", "t/3/42"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (None, "t/3/40"),
        ([], "t/3/40"),
        (CE, "/airline/77"),
        ([*CE, ("idempotency-key", b"k")], "/airline/77"),
        ([("ce_id", b"77")], "t/3/40"),
        ([("ce_source", b"/airline"), ("idempotency-key", b"k")], "k"),
        ([("ce_source", b"s"), ("ce_id", None)], "t/3/40"),
        ([("idempotency-key", b"")], "t/3/40"),
        ([("idempotency-key", None)], "t/3/40"),
        ([("idempotency-key", b"first"), ("idempotency-key", b"last")], "last"),
        ([("other", b"x")], "t/3/40"),
    ],
)
def test_headers_then_position(headers: list[Header] | None, expected: str) -> None:
    assert event_ids(block([event()], [headers]), None) == [expected]


def test_b33_header_values_that_are_not_utf8_are_replaced() -> None:
    assert event_ids(block([event()], [[("idempotency-key", b"k\xc3\x28")]]), None) == ["k\ufffd("]


def test_b33_header_names_that_are_not_utf8_leave_the_position() -> None:
    records = block([event(), event()])
    records.messages = [Unreadable(), records.messages[1]]
    assert event_ids(records, None) == ["t/3/40", "t/3/41"]


@pytest.mark.parametrize("field", ["id", "code", "reason", "stage"])
def test_rejections_and_tombstones_have_their_position(field: str) -> None:
    records = block([BAD, event(**{field: "a"}), TOMBSTONE], [None, None, CE])
    assert event_ids(records, field) == ["t/3/40", "a", "/airline/77"]


def test_nothing_has_no_ids() -> None:
    assert event_ids(block([]), "id") == []


def test_times_are_those_of_the_events() -> None:
    records = block([event(at="2013-01-01T05:00:00Z"), BAD, event(at=None)])
    assert event_times(records, "at") == ["2013-01-01T05:00:00Z", None, None]
    assert event_times(records, None) is None
