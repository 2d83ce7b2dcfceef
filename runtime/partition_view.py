"""What a worker shows of the partitions it holds: where it stands, what is committed, how far behind it is."""

import structlog

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import Lag
from pelton.desk import Desk
from pelton.errors import KafkaFailure
from pelton.loop import Loop
from pelton.reports import PartitionStatus

log = structlog.get_logger(__name__)

ANSWER_S = 2.0


class PartitionView:
    """The partitions of one road; belongs to the reporter's thread."""

    def __init__(self, road: Loop | Desk, lag: Lag) -> None:
        self._road, self._lag = road, lag
        self._shown: set[Partition] = set()

    def look(self, *, ask: bool) -> list[PartitionStatus]:
        """Return how each partition held is, and set its metric; the lag is None unless the broker is asked for it."""
        road = self._road
        return [
            PartitionStatus(
                topic=topic,
                partition=number,
                position=road.source.positions.get((topic, number)),
                committed=road.offsets.committed_in((topic, number)),
                lag=lag,
            )
            for (topic, number), lag in self._lags(ask=ask).items()
        ]

    def _lags(self, *, ask: bool) -> dict[Partition, int | None]:
        road = self._road
        owned, positions = road.source.assignment.partitions, road.source.positions
        unread = self._unread({at: positions.get(at) for at in owned}) if ask else {}
        lags = {at: unread[at] + road.offsets.unfinished_in(at) if at in unread else None for at in owned}
        known = {at: lag for at, lag in lags.items() if lag is not None}
        for topic, number in self._shown - set(known):
            road.metrics.lag.remove(topic, str(number))
        for (topic, number), lag in known.items():
            road.metrics.lag.labels(topic, str(number)).set(lag)
        self._shown = set(known)
        return lags

    def _unread(self, positions: dict[Partition, int | None]) -> dict[Partition, int]:
        try:
            return self._lag.records(positions, ANSWER_S)
        except KafkaFailure as error:
            log.debug("lag_unknown", reason=str(error))
            return {}
