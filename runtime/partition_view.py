"""What a worker shows of the partitions it holds: where it stands, what is committed, how far behind it is."""

import time
from collections.abc import Iterable

import structlog
from prometheus_client import Gauge

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import Behind, Lag
from pelton.consumers.lag_window import LagWindow
from pelton.errors import KafkaFailure
from pelton.partition_status import PartitionStatus
from pelton.road import Road

log = structlog.get_logger(__name__)

ANSWER_S = 2.0


class PartitionView:
    """The partitions of one road; belongs to the reporter's thread."""

    def __init__(self, road: Road, lag: Lag) -> None:
        self._road, self._lag = road, lag
        self._windows: dict[tuple[Partition, int], LagWindow] = {}
        self._shown: set[tuple[Gauge, str, str]] = set()

    def look(self, *, ask: bool) -> list[PartitionStatus]:
        """Return how each partition held is, and set its metrics; the lag is None unless the broker is asked for it."""
        assignment = self._road.source.assignment
        # A partition that has left and come back begins anew: others have moved it on.
        held = {(at, assignment.epoch(at)): LagWindow() for at in assignment.partitions}
        self._windows = {key: self._windows.get(key, window) for key, window in held.items()}
        behind = self._behind([at for at, _ in held]) if ask else {}
        found = [self._status(at, window, behind.get(at)) for (at, _), window in self._windows.items()]
        self._show(found)
        return found

    def _status(self, at: Partition, window: LagWindow, behind: Behind | None) -> PartitionStatus:
        if behind is not None:
            window.add(behind, time.monotonic())
        return PartitionStatus(
            topic=at[0],
            partition=at[1],
            position=self._road.source.positions.get(at),
            committed=self._road.offsets.committed_in(at),
            lag=behind.records if behind else None,
            lag_s=behind.oldest_s if behind else None,
            drain_s=window.drain_s() if behind else None,
        )

    def _show(self, found: Iterable[PartitionStatus]) -> None:
        metrics, shown = self._road.metrics, set[tuple[Gauge, str, str]]()
        for each in found:
            for gauge, value in ((metrics.lag, each.lag), (metrics.lag_age, each.lag_s), (metrics.drain, each.drain_s)):
                if value is not None:
                    gauge.labels(each.topic, str(each.partition)).set(value)
                    shown.add((gauge, each.topic, str(each.partition)))
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
