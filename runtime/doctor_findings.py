"""What a check of settings finds: how bad, where, what, and what to change."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """It cannot work."""
    WARNING = "warning"
    """It works, and somebody will be surprised."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, and what to change."""

    level: Level
    where: str
    what: str
    change: str


def error(where: str, what: str, change: str) -> Finding:
    """Return a finding with which it cannot work."""
    return Finding(Level.ERROR, where, what, change)


def warning(where: str, what: str, change: str) -> Finding:
    """Return a finding that will surprise somebody."""
    return Finding(Level.WARNING, where, what, change)
