"""What happens to work in hand when partitions come and go."""

from collections.abc import Callable

import structlog

from pelton.consumers.assignment import Partition
from pelton.deadline import Deadline
from pelton.errors import KafkaFailure
from pelton.road import Road
from pelton.schemas.records import Records

log = structlog.get_logger(__name__)

REVOKE_BUDGET_S = 5.0


class Handover:
    """Commits finished work of partitions that leave and drops the rest, for their next owner to do again.

    Called during a poll, while the whole group waits, so all of it ends within `REVOKE_BUDGET_S`.
    """

    def __init__(self, road: Road, on_joined: Callable[[], None], on_moving: Callable[[], None]) -> None:
        self._road = road
        self._on_joined, self._on_moving = on_joined, on_moving

    def on_assigned(self, partitions: list[Partition]) -> None:
        """Say that the group is joined; a member without a partition has joined as well."""
        self._road.metrics.rebalances.labels("assigned").inc()
        self._road.trials.assigned(partitions)
        self._on_joined()

    def on_revoked(self, partitions: list[Partition]) -> None:
        """Drop what waits, let the batch in hand end, and commit what became safe."""
        road = self._road
        road.metrics.rebalances.labels("revoked").inc()
        self._on_moving()
        deadline = Deadline.after(REVOKE_BUDGET_S)
        road.batcher.drop(_of(partitions))
        if not (road.batcher.wait_for_batch(deadline.remaining_s()) and road.sink.flush(deadline)):
            log.warning("revoked_unfinished", partitions=partitions, budget_s=REVOKE_BUDGET_S)
        road.settle()
        road.give_back(partitions)
        try:
            road.commit(wait=True)
        except KafkaFailure as error:
            log.warning("commit_refused", partitions=partitions, reason=str(error))
        self._road.forget(partitions)

    def on_lost(self, partitions: list[Partition]) -> None:
        """Drop everything: another member may be at work on these already."""
        self._road.metrics.rebalances.labels("lost").inc()
        self._on_moving()
        self._road.batcher.drop(_of(partitions))
        self._road.forget(partitions)


def _of(partitions: list[Partition]) -> Callable[[Records], bool]:
    gone = set(partitions)
    return lambda records: (records.topic, records.partition) in gone
