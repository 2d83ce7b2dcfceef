"""How many replicas a backlog needs: arithmetic on what was measured, without a clock or a memory."""

from dataclasses import dataclass
from math import ceil, inf

BUSY = 0.8
"""Share of its time that a replica may be busy in the long run; nothing is left for a burst at 1."""
LEAST_SHARE = 0.25
"""Share of the drain time that is left for draining at least, however long a start takes."""


@dataclass(frozen=True, slots=True)
class Need:
    """What there is to do, and what one replica does; records and seconds."""

    lag: int
    arrival_per_s: float
    capacity_per_s: float
    """What one replica does while it is busy."""
    replicas: int
    """Those that are at work."""
    drain_s: float
    """In what time the lag is to be gone."""
    start_s: float
    """How long a replica takes that nobody has asked for yet."""
    coming: int = 0
    """Those that are at work or were asked for."""
    coming_in_s: float = 0.0
    """How long the last of those that were asked for still takes."""

    def clears_in_s(self, n: int) -> float:
        """Return when the lag will be gone with `n` replicas, infinite if never; records go on arriving meanwhile."""
        wait_s = self._wait_s(n)
        grown = self.lag + (self.arrival_per_s - min(n, self.replicas) * self.capacity_per_s) * wait_s
        if grown <= 0:
            return 0.0
        spare_per_s = n * self.capacity_per_s - self.arrival_per_s
        return wait_s + grown / spare_per_s if spare_per_s > 0 else inf

    def replicas_needed(self, most: int) -> int:
        """Return the least number of replicas that keeps up and clears the lag in time, `most` where none does."""
        least = max(1, ceil(self.arrival_per_s / (self.capacity_per_s * BUSY)))
        return next((n for n in range(least, most) if self.clears_in_s(n) <= self._limit_s(n)), most)

    def _wait_s(self, n: int) -> float:
        if n <= self.replicas:
            return 0.0
        return self.coming_in_s if n <= self.coming else self.start_s

    def _limit_s(self, n: int) -> float:
        return max(self.drain_s, self._wait_s(n) + LEAST_SHARE * self.drain_s)
