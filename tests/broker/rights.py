"""The rights that docs/security.md says are needed, as this file reads them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from .guarded import Right

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_ROW = re.compile(
    r"^\| (?P<who>[^|]+) \| (?P<operation>[A-Z_]+) \| (?P<on>[A-Z_]+) \| `(?P<name>[^`]+)` \|", re.MULTILINE
)


def documented(who: str, names: Mapping[str, str]) -> list[Right]:
    """Return the rights that somebody needs; `names` says what stands for the names in the table."""
    found = [(row["operation"], row["on"], _filled(row["name"], names)) for row in _rows() if row["who"] == who]
    assert found, f"docs/security.md tells no right of: {who}"
    return found


def everybody() -> set[str]:
    """Return who is in the table."""
    return {row["who"] for row in _rows()}


def _rows() -> Iterator[re.Match[str]]:
    return _ROW.finditer(PAGE.read_text())


def _filled(name: str, names: Mapping[str, str]) -> str:
    for each, value in names.items():
        name = name.replace(each, value)
    return name
