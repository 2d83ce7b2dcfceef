"""How long answers take of late."""

from collections import deque

KEPT = 512
FEWEST = 50
EVERY = 64
RANK = 0.95


class Latencies:
    """The 95th percentile of the last few hundred answers, worked out now and then; for one thread."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=KEPT)
        self._fresh = 0
        self.p95_s: float | None = None
        """Seconds within which 19 of 20 answers came; None before there were 50."""

    def note(self, latency_s: float) -> None:
        """Count an answer."""
        self._last.append(latency_s)
        self._fresh += 1
        if len(self._last) >= FEWEST and (self.p95_s is None or self._fresh >= EVERY):
            self._fresh = 0
            in_order = sorted(self._last)
            self.p95_s = in_order[int(RANK * (len(in_order) - 1))]
