"""A dead letter keeps the record's headers byte for byte and tells why it is there."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from jsonschema import Draft202012Validator

import pelton.schemas.dead_letter
from pelton.schemas.codes import Code
from pelton.schemas.dead_letter import DeadLetterHeaders, dead_letter_headers
from pelton.schemas.rejection import Rejection

WIRE = Path(pelton.schemas.dead_letter.__file__).parent / "wire" / "dead_letter.json"
REJECTION = Rejection(Code.INVALID, "x: wrong", "decode", "msgspec.ValidationError", attempts=2)
OURS = [
    ("__connect.errors.topic", b"flights"),
    ("__connect.errors.partition", b"3"),
    ("__connect.errors.offset", b"42"),
    ("__connect.errors.stage", b"decode"),
    ("__connect.errors.exception.class.name", b"msgspec.ValidationError"),
    ("__connect.errors.exception.message", b"x: wrong"),
    ("pelton-error-code", b"invalid"),
    ("pelton-attempts", b"2"),
    ("pelton-model", b"m@1@abc"),
]


class Unreadable(Message):
    """A message with a header name that is not UTF-8, as the client shows it."""

    def headers(self) -> Any:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def message(headers: Any = None, topic: str = "flights", **more: Any) -> Message:
    return Message(topic=topic, partition=3, offset=42, headers=headers, **more)


def test_headers_are_those_of_the_design() -> None:
    assert dead_letter_headers(message(), REJECTION, "m@1@abc") == OURS


def test_b11_record_without_key_or_value_has_headers_too() -> None:
    assert dead_letter_headers(message(key=None, value=None), REJECTION, "m@1@abc") == OURS


def test_b33_original_headers_come_first_byte_for_byte() -> None:
    original = [("a", b"\xc3\x28"), ("a", b"again"), ("null", None), ("empty", b""), ("emoji 🚀", b"\x00\x83\xff")]
    assert dead_letter_headers(message(original), REJECTION, "m@1@abc") == original + OURS


def test_second_pass_replaces_what_the_first_added() -> None:
    first = dead_letter_headers(message([("a", b"1")], topic="other"), REJECTION, "old@0")
    second = dead_letter_headers(message(first), REJECTION, "m@1@abc")
    assert second == [("a", b"1"), *OURS]


def test_b33_header_names_that_are_not_utf8_lose_the_originals_and_say_so() -> None:
    headers = dict(dead_letter_headers(Unreadable(topic="flights", partition=3, offset=42), REJECTION, "m@1@abc"))
    assert list(headers) == [name for name, _ in OURS]
    text = headers["__connect.errors.exception.message"]
    assert isinstance(text, bytes)
    assert text.startswith(b"x: wrong (")
    assert b"not UTF-8" in text


@pytest.mark.parametrize("kind", [Message, Unreadable])
def test_headers_are_bounded_and_printable(kind: type[Message]) -> None:
    rejection = Rejection(Code.MODEL_ERROR, "\n🚀\ud800" * 5_000, "forward", "E" * 5_000)
    headers = dead_letter_headers(kind(topic="t", partition=0, offset=0), rejection, "m" * 5_000)
    texts = [value.decode() for _, value in headers if isinstance(value, bytes)]
    assert len(texts) == len(OURS)
    assert all(len(text) <= 500 and text.isprintable() for text in texts)


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_headers_hold_to_the_published_schema(code: Code) -> None:
    rejection = Rejection(code, "r" * 900, "produce", "E")
    document = {
        name: value.decode()
        for name, value in dead_letter_headers(message(), rejection, "m@1")
        if isinstance(value, bytes)
    }
    Draft202012Validator(json.loads(WIRE.read_text())).validate(document)
    assert DeadLetterHeaders.model_validate(document).code is code
