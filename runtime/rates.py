"""Records a second of one worker, over the last few status reports."""

import time
from collections import deque

from pelton.reports import StatusReport
from pelton.totals import COUNTS

WINDOW_S = 10.0
"""How far back a rate looks, in seconds."""


class Rates:
    """Turns running totals into records per second."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, StatusReport]] = deque()

    def add(self, report: StatusReport, at_s: float | None = None) -> None:
        """Take the totals of one report, seen now or at `at_s` (monotonic)."""
        at_s = time.monotonic() if at_s is None else at_s
        self._seen.append((at_s, report))
        while len(self._seen) > 2 and at_s - self._seen[1][0] >= WINDOW_S:
            self._seen.popleft()

    def clear(self) -> None:
        """Forget everything: the totals begin again at zero."""
        self._seen.clear()

    def per_s(self) -> dict[str, float]:
        """Return the rates of records, scored, dead letters and answered; zero until two reports came."""
        (then_s, then), (now_s, now) = (self._seen[0], self._seen[-1]) if self._seen else ((0.0, _NONE),) * 2
        span_s = now_s - then_s
        return {
            name: round((getattr(now, name) - getattr(then, name)) / span_s, 3) if span_s else 0.0 for name in COUNTS
        }


_NONE = StatusReport()
