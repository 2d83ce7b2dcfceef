"""Which partitions this member owns, and since which assignment."""

from collections.abc import Iterable
from typing import Protocol

from pelton.schemas.records import Records

Partition = tuple[str, int]


class Assignment:
    """The partitions owned now, each with the epoch in which it was assigned.

    Every change of ownership opens a new epoch. Work carries the epoch it was polled in, so results of a partition
    that has left and come back are told from those of its present assignment.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._owned: dict[Partition, int] = {}

    def assign(self, partitions: Iterable[Partition]) -> int:
        """Add partitions under a new epoch and return that epoch."""
        self._epoch += 1
        self._owned = {**self._owned, **dict.fromkeys(partitions, self._epoch)}
        return self._epoch

    def revoke(self, partitions: Iterable[Partition]) -> None:
        """Forget partitions that have left."""
        gone = set(partitions)
        self._owned = {owned: epoch for owned, epoch in self._owned.items() if owned not in gone}

    def epoch(self, partition: Partition) -> int:
        """Return the epoch of an owned partition, or -1."""
        return self._owned.get(partition, -1)

    def owns(self, records: Records) -> bool:
        """Tell whether records belong to a partition's present assignment; safe from any thread."""
        return self._owned.get((records.topic, records.partition)) == records.epoch

    @property
    def partitions(self) -> list[Partition]:
        """The partitions owned now, sorted."""
        return sorted(self._owned)


class RebalanceListener(Protocol):
    """What has to happen when partitions come and go; called in the poll thread, inside `Source.poll`."""

    def on_assigned(self, partitions: list[Partition]) -> None:
        """Partitions were added, after the assignment's epoch was opened."""

    def on_revoked(self, partitions: list[Partition]) -> None:
        """Partitions are about to leave: the last moment at which their offsets can be committed."""

    def on_lost(self, partitions: list[Partition]) -> None:
        """Partitions have left already; another member may be working on them."""
