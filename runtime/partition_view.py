"""What a worker shows of the partitions it holds: where it stands, what is committed, how far behind it is."""

import time
from collections.abc import Iterable

import structlog
from prometheus_client import Gauge

from pelton.consumers.assignment import Partition
from pelton.consumers.intake import Flow
from pelton.consumers.lag import Behind, Lag
from pelton.consumers.lag_window import LagWindow
from pelton.errors import KafkaFailure
from pelton.lag_rules import Scene, judge
from pelton.partition_status import PartitionStatus
from pelton.road import Road
from pelton.schemas.settings_groups import Health
from pelton.states import LagState

log = structlog.get_logger(__name__)

ANSWER_S = 2.0
JUST_NOW_S = 5.0
"""A model that ended a batch so long ago still counts as at work: between two batches there is a moment without one."""


class PartitionView:
    """The partitions of one road; belongs to the reporter's thread."""

    def __init__(self, road: Road, lag: Lag, health: Health) -> None:
        self._road, self._lag, self._health = road, lag, health
        self._windows: dict[tuple[Partition, int], LagWindow] = {}
        self._shown: set[tuple[Gauge, *tuple[str, ...]]] = set()

    def look(self, *, ask: bool) -> list[PartitionStatus]:
        """Return how each partition held is, and set its metrics; the lag is None unless the broker is asked for it."""
        assignment = self._road.source.assignment
        # A partition that has left and come back begins anew: others have moved it on.
        held = {(at, assignment.epoch(at)) for at in assignment.partitions}
        self._windows = {key: self._windows.get(key) or LagWindow(self._health.lag_window_s) for key in sorted(held)}
        behind = self._behind([at for at, _ in self._windows]) if ask else {}
        found = [self._status(at, window, behind.get(at)) for (at, _), window in self._windows.items()]
        self._show(found)
        return found

    def _status(self, at: Partition, window: LagWindow, behind: Behind | None) -> PartitionStatus:
        now_s = time.monotonic()
        if behind is not None:
            window.add(behind, now_s, held_back=self._road.intake.flow is not Flow.FLOWING)
        verdict, reason = judge(self._scene(at, window, now_s))
        return PartitionStatus(
            topic=at[0],
            partition=at[1],
            position=self._road.source.positions.get(at),
            committed=self._road.offsets.committed_in(at),
            lag=behind.records if behind else None,
            lag_s=behind.oldest_s if behind else None,
            drain_s=window.drain_s() if behind else None,
            verdict=verdict,
            reason=reason,
        )

    def _scene(self, at: Partition, window: LagWindow, now_s: float) -> Scene:
        road, progress = self._road, self._road.progress
        started_s = progress.batch_started_s
        young = bool(started_s) and now_s - started_s < self._health.stall_s
        return Scene(
            window,
            now_s,
            in_hand=road.offsets.unfinished_in(at),
            rebalancing=road.source.rebalancing,
            # A process that was frozen could not have looked either: only the time since the first look counts.
            silent_s=min(now_s - road.polled_s, window.span_s(now_s)) if road.polled_s else 0.0,
            at_work=young or now_s - progress.batch_finished_s < JUST_NOW_S,
        )

    def _show(self, found: Iterable[PartitionStatus]) -> None:
        metrics, shown = self._road.metrics, set[tuple[Gauge, *tuple[str, ...]]]()
        for each in found:
            place = each.topic, str(each.partition)
            for gauge, value in ((metrics.lag, each.lag), (metrics.lag_age, each.lag_s), (metrics.drain, each.drain_s)):
                if value is not None:
                    gauge.labels(*place).set(value)
                    shown.add((gauge, *place))
            for state in LagState:
                metrics.verdict.labels(*place, state.value).set(state is each.verdict)
                shown.add((metrics.verdict, *place, state.value))
        for gauge, *labels in self._shown - shown:
            gauge.remove(*labels)
        self._shown = shown

    def _behind(self, partitions: list[Partition]) -> dict[Partition, Behind]:
        offsets, positions = self._road.offsets, self._road.source.positions
        try:
            return self._lag.behind({at: offsets.reached_in(at, positions.get(at)) for at in partitions}, ANSWER_S)
        except KafkaFailure as error:
            log.debug("lag_unknown", reason=str(error))
            return {}
