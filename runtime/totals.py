"""What became of records since a worker's process began."""

from dataclasses import astuple, dataclass, fields
from typing import Self


@dataclass(slots=True)
class Totals:
    """Counts of one road, or of several added up."""

    records: int = 0
    scored: int = 0
    dead_letters: int = 0
    answered: int = 0
    """Answers that their callers can read."""

    def __add__(self, other: Self) -> Self:
        """Return the counts of both."""
        return type(self)(*map(sum, zip(astuple(self), astuple(other), strict=True)))


COUNTS = tuple(field.name for field in fields(Totals))
"""The names of the counts."""
