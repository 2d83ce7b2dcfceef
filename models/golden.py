"""Golden cases: events whose scores are known, shipped with the model."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pelton.errors import PackageError


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """An event as it comes off the wire, and the score it must get."""

    line: int
    event: bytes
    score: Any


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    event: msgspec.Raw
    score: Any


def read_golden(path: Path) -> list[GoldenCase]:
    """Read golden cases, one JSON object `{"event": …, "score": …}` a line.

    Raises PackageError if the file is absent, empty, or holds a line that is something else.
    """
    decoder = msgspec.json.Decoder(_Line)
    cases = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise PackageError(f"the golden cases cannot be read: {error}") from error
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise PackageError(f"{path}, line {number} is not a golden case: {error}") from None
        cases.append(GoldenCase(number, bytes(line.event), line.score))
    if not cases:
        raise PackageError(f"{path} holds no golden case")
    return cases


def agrees(expected: Any, got: Any, tolerance: float) -> bool:
    """Tell whether a score is the expected one, numbers within the tolerance (absolute and relative)."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(agrees(expected[key], got[key], tolerance) for key in expected)
    if isinstance(expected, list) and isinstance(got, list | tuple):
        return len(expected) == len(got) and all(
            agrees(left, right, tolerance) for left, right in zip(expected, got, strict=True)
        )
    if _is_number(expected) and _is_number(got):
        return math.isclose(expected, got, rel_tol=tolerance, abs_tol=tolerance)
    return type(expected) is type(got) and bool(expected == got)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
