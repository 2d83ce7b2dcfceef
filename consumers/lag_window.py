"""How one partition moved of late: samples of where its reader stood, one a second or so."""

from collections import deque
from itertools import pairwise
from typing import NamedTuple

from pelton.consumers.lag import Behind

GAP_S = 10.0
"""Between samples further apart nobody knows what happened, in seconds: the window begins anew."""


class Sample(NamedTuple):
    """Where a reader stood at a moment of the monotonic clock, and whether a full queue kept it from reading."""

    at_s: float
    behind: Behind
    held_back: bool


class LagWindow:
    """The samples of the last `window_s` seconds, all of one assignment of one partition.

    What is followed is the first record without an outcome. The consumer's own position runs ahead of it, into the
    queue, and moves while the model hangs; the commit comes after it, and says nothing while commits are refused.
    """

    def __init__(self, window_s: float) -> None:
        self.window_s = window_s
        self._samples: deque[Sample] = deque()

    def add(self, behind: Behind, at_s: float, *, held_back: bool = False) -> None:
        """Take a fresh sample, made at `at_s`."""
        samples = self._samples
        if self.age_s(at_s) > GAP_S:
            samples.clear()
        samples.append(Sample(at_s, behind, held_back))
        while len(samples) > 1 and samples[1].at_s <= at_s - self.window_s:
            samples.popleft()

    def age_s(self, now_s: float) -> float:
        """Return how long ago the last sample was made, infinite without any."""
        return now_s - self._samples[-1].at_s if self._samples else float("inf")

    def span_s(self, now_s: float) -> float:
        """Return how far back the samples reach, 0 without any."""
        return now_s - self._samples[0].at_s if self._samples else 0.0

    @property
    def records(self) -> int:
        """The lag by the last sample, 0 without any."""
        return self._samples[-1].behind.records if self._samples else 0

    @property
    def caught_up(self) -> bool:
        """Whether nothing was left to read at any sample."""
        return any(sample.behind.records == 0 for sample in self._samples)

    @property
    def set_back(self) -> int:
        """By how many offsets the reader stands before where it stood."""
        return max((sample.behind.reached for sample in self._samples), default=0) - self._reached

    @property
    def moved(self) -> bool:
        """Whether the reader has not stood at one place all the time."""
        return any(sample.behind.reached != self._reached for sample in self._samples)

    @property
    def shrank(self) -> bool:
        """Whether any sample has a smaller lag than the one before it."""
        return any(later.behind.records < sample.behind.records for sample, later in pairwise(self._samples))

    @property
    def held_back(self) -> bool:
        """Whether a full queue kept the worker from reading at any sample."""
        return any(sample.held_back for sample in self._samples)

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
        records, per_s = self.records, self.per_s()
        if records == 0:
            return 0.0
        return records / per_s if per_s else None

    @property
    def _reached(self) -> int:
        return self._samples[-1].behind.reached if self._samples else 0
