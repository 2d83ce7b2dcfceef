"""How one partition moved of late: samples of where its reader stood, one a second or so."""

from collections import deque
from typing import NamedTuple

from pelton.consumers.lag import Behind

WINDOW_S = 60.0
"""How far back a window looks, in seconds."""


class Sample(NamedTuple):
    """Where a reader stood at a moment of the monotonic clock."""

    at_s: float
    behind: Behind


class LagWindow:
    """The last samples of one assignment of one partition."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()

    def add(self, behind: Behind, at_s: float) -> None:
        """Take a fresh sample, made at `at_s`."""
        self._samples.append(Sample(at_s, behind))
        while self._samples[0].at_s < at_s - WINDOW_S:
            self._samples.popleft()

    def per_s(self) -> float:
        """Return how many offsets a second were passed over the window, 0 while nothing was."""
        if not self._samples:
            return 0.0
        first, last = self._samples[0], self._samples[-1]
        passed_s = last.at_s - first.at_s
        return max(0.0, (last.behind.reached - first.behind.reached) / passed_s) if passed_s else 0.0

    def drain_s(self) -> float | None:
        """Return how long the lag takes at that rate: 0 for no lag, None for no rate."""
        if not self._samples:
            return None
        records, per_s = self._samples[-1].behind.records, self.per_s()
        if records == 0:
            return 0.0
        return records / per_s if per_s else None
