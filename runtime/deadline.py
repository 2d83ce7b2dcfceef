"""A point in time that is passed down, instead of a chain of time-outs."""

import time
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock by which something must be done."""

    at_s: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """Return the deadline that lies `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def remaining_s(self) -> float:
        """Return the seconds left, never below zero."""
        return max(0.0, self.at_s - time.monotonic())

    @property
    def expired(self) -> bool:
        """Tell whether the moment has passed."""
        return time.monotonic() >= self.at_s
