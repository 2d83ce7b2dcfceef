"""For how long a worker has been at work: what it does in that time is what it could do all the time."""

from collections.abc import Sequence

from pelton.road import Road


class Busy:
    """Adds up the time in which batches were in the model, or in which nobody waited for records.

    A fast model leaves its worker at polling and decoding for most of the time, a slow one lets another thread wait
    for records meanwhile. So of both the larger one counts.
    """

    def __init__(self, roads: Sequence[Road]) -> None:
        self._roads, self._progress = roads, roads[0].progress
        self._looked_s = self._scored_s = self._idle_s = 0.0
        self.total_s = 0.0

    def look(self, now_s: float) -> float:
        """Return the busy time until `now_s` (monotonic) since the first look, in seconds."""
        started_s = self._progress.batch_started_s
        scored_s = self._progress.batches_s + (now_s - started_s if started_s else 0.0)
        idle_s = min(road.intake.idle_s for road in self._roads)
        if self._looked_s:
            passed_s = now_s - self._looked_s
            busy_s = max(scored_s - self._scored_s, passed_s - (idle_s - self._idle_s))
            self.total_s += min(passed_s, max(0.0, busy_s))
        self._looked_s, self._scored_s, self._idle_s = now_s, scored_s, idle_s
        return self.total_s
