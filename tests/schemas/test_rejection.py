"""A rejection is bounded, printable, and can be made of any exception."""

import copy
import pickle

import pytest

from pelton.schemas.codes import Code
from pelton.schemas.rejection import TOMBSTONE, Rejection, printable


class Mute(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_reason_is_bounded_to_500_characters() -> None:
    reason = Rejection(Code.INVALID, "x" * 10_000, "decode", "ValueError").reason
    assert reason == "x" * 499 + "…"
    assert Rejection(Code.INVALID, "x" * 500, "decode", "ValueError").reason == "x" * 500


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\r\n", "two lines  "),
        ("bell\x07 and \x1b[31mred", "bell\\x07 and \\x1b[31mred"),
        ("lone \ud800 half", "lone \\ud800 half"),
        ("Grüße 🚀", "Grüße 🚀"),
        ("right\u202eleft", "right\\u202eleft"),
    ],
)
def test_b33_reason_is_one_printable_line(text: str, shown: str) -> None:
    reason = Rejection(Code.INVALID, text, "decode", "ValueError").reason
    assert reason == shown
    assert reason.isprintable()
    reason.encode("utf-8")


def test_escapes_do_not_lengthen_a_reason_beyond_its_limit() -> None:
    assert len(printable("\x00" * 600, 500)) == 500


@pytest.mark.parametrize(
    ("error", "reason", "name"),
    [
        (ValueError("bad value"), "bad value", "ValueError"),
        (ValueError(), "ValueError", "ValueError"),
        (Mute(), f"{__name__}.Mute", f"{__name__}.Mute"),
    ],
)
def test_rejection_of_an_exception(error: Exception, reason: str, name: str) -> None:
    rejection = Rejection.of(error, Code.MODEL_ERROR, "forward", attempts=3)
    assert rejection == Rejection(Code.MODEL_ERROR, reason, "forward", name, 3)


def test_tombstone_is_one() -> None:
    assert repr(TOMBSTONE) == "TOMBSTONE"
    assert copy.deepcopy(TOMBSTONE) is TOMBSTONE
    assert pickle.loads(pickle.dumps(TOMBSTONE)) is TOMBSTONE
