"""Golden cases: read as raw JSON, compared with a tolerance."""

from pathlib import Path
from typing import Any

import pytest

from pelton.errors import PackageError
from pelton.models.golden import agrees, read_golden


def test_an_event_keeps_its_bytes_so_that_the_codec_meets_what_kafka_brings(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_bytes(b'{"event": {"x": 1.50, "y": null}, "score": 3}\n\n{"score": [1, 2.5], "event": {"x":1e2}}\n')
    first, second = read_golden(path)
    assert (first.line, first.event, first.score) == (1, b'{"x": 1.50, "y": null}', 3)
    assert (second.line, second.event, second.score) == (3, b'{"x":1e2}', [1, 2.5])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"event": {}, "score": 1}\n{"event": {}}\n', "line 2 is not a golden case: .*score"),
        (b'{"event": {}, "score": 1, "weight": 2}\n', "line 1 is not a golden case: .*weight"),
        (b'{"event": {}, "score": NaN}\n', "line 1 is not a golden case"),
        (b'{"event": {}, "score": "\xff"}\n', "line 1 is not a golden case"),
        (b"\n\n", "holds no golden case"),
    ],
)
def test_what_is_no_golden_case_is_told_by_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_bytes(content)
    with pytest.raises(PackageError, match=said):
        read_golden(path)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        (0.5, 0.5000009, True),
        (0.5, 0.5000021, False),
        (1000.0, 1000.0009, True),
        (0.0, 9e-7, True),
        (1, 1.0, True),
        (True, 1, False),
        (True, True, True),
        ("late", "late", True),
        ("late", "Late", False),
        (None, None, True),
        (None, 0.0, False),
        ([0.1, 0.9], [0.1, 0.9000001], True),
        ([0.1, 0.9], [0.1], False),
        ({"p": 0.1, "label": "late"}, {"label": "late", "p": 0.1}, True),
        ({"p": 0.1}, {"p": 0.2}, False),
        ({"p": 0.1}, {"q": 0.1}, False),
        ({"p": 0.1}, 0.1, False),
    ],
)
def test_numbers_agree_within_the_tolerance_and_all_else_exactly(expected: Any, got: Any, same: bool) -> None:
    assert agrees(expected, got, 1e-6) is same
