"""What the lag of its partitions says of a worker: as much as the worst of them, and not at once."""

from collections.abc import Sequence

import structlog

from pelton.hysteresis import Hysteresis
from pelton.partition_status import LagStatus, PartitionStatus
from pelton.schemas.settings_groups import Health
from pelton.states import UNREADY, LagState

log = structlog.get_logger(__name__)


class WorstLag:
    """Follows the worst partition of a worker, and says when it is to count as not ready."""

    def __init__(self, health: Health) -> None:
        self._failing = Hysteresis(health.unready_after_s, health.ready_after_s)
        self._verdict, self._why = LagState.OK, ""

    def see(self, partitions: Sequence[PartitionStatus], now_s: float) -> LagStatus:
        """Return what is to be said of a worker that holds these; one that holds none is ready at once."""
        if not partitions:
            self._failing.reset()
            self._note(LagState.OK, "")
            return LagStatus()
        worst = max(partitions, key=lambda each: each.verdict.severity)
        reason = f"{worst.topic}/{worst.partition}: {worst.reason}"
        self._note(worst.verdict, reason)
        if worst.verdict in UNREADY:
            self._why = f"{worst.verdict}: {reason}"
        failing = self._failing.see(worst.verdict in UNREADY, now_s)
        return LagStatus(worst.verdict, reason, self._why if failing else "")

    def _note(self, verdict: LagState, reason: str) -> None:
        if verdict is not self._verdict:
            log.info("lag_verdict", verdict=verdict.value, before=self._verdict.value, reason=reason)
            self._verdict = verdict
