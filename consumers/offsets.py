"""What may be committed: the highest offset below which every record received is finished."""

from collections import deque
from dataclasses import dataclass, field

from pelton.consumers.assignment import Partition
from pelton.schemas.records import Records

COMPACT_AT = 8192


@dataclass(slots=True)
class PartitionOffsets:
    """Records of one assignment of one partition that were received, and which of them are finished.

    Only offsets that were really received count, so holes left by compaction and transaction markers are no gaps.
    `pending[head:]` are the offsets not yet passed, ascending; finished ones that cannot be passed wait in `ahead`.
    """

    epoch: int
    position: int | None = None
    pending: list[int] = field(default_factory=list)
    head: int = 0
    ahead: set[int] = field(default_factory=set)
    arrivals: deque[tuple[int, float]] = field(default_factory=deque)

    def received(self, records: Records) -> None:
        """Note records in the order in which they were polled."""
        self.pending += records.offsets
        self.arrivals.append((records.offsets[-1], records.arrived_s))

    def finished(self, offsets: list[int]) -> None:
        """Note finished records, and move the position over the contiguous ones."""
        end = self.head + len(offsets)
        if not self.ahead and self.pending[self.head : end] == offsets:
            self.head = end
        else:
            self.ahead.update(offsets)
            self._pass_contiguous()
        if self.head:
            self.position = self.pending[self.head - 1] + 1
            self._forget_passed()

    def _pass_contiguous(self) -> None:
        while self.head < len(self.pending) and self.pending[self.head] in self.ahead:
            self.ahead.remove(self.pending[self.head])
            self.head += 1

    def _forget_passed(self) -> None:
        assert self.position is not None
        while self.arrivals and self.arrivals[0][0] < self.position:
            self.arrivals.popleft()
        if self.head > COMPACT_AT:
            del self.pending[: self.head]
            self.head = 0

    @property
    def unfinished(self) -> int:
        """Records received and not yet passed."""
        return len(self.pending) - self.head


class Offsets:
    """The progress of every owned partition; belongs to the poll thread alone."""

    def __init__(self) -> None:
        self._partitions: dict[Partition, PartitionOffsets] = {}
        self._committed: dict[Partition, int] = {}

    def received(self, records: Records) -> None:
        """Note records polled just now."""
        partition = (records.topic, records.partition)
        tracked = self._partitions.get(partition)
        if tracked is None or tracked.epoch != records.epoch:
            tracked = self._partitions[partition] = PartitionOffsets(records.epoch)
        tracked.received(records)

    def finished(self, records: Records) -> None:
        """Note records whose scores are safe; those of an older assignment are ignored."""
        tracked = self._partitions.get((records.topic, records.partition))
        if tracked is not None and tracked.epoch == records.epoch:
            tracked.finished(records.offsets)

    def committable(self) -> dict[Partition, int]:
        """Return the next offset to read per partition, where it has moved since `committed` was told."""
        return {
            partition: tracked.position
            for partition, tracked in self._partitions.items()
            if tracked.position is not None and self._committed.get(partition) != tracked.position
        }

    def committed(self, offsets: dict[Partition, int]) -> None:
        """Note what was handed to the broker."""
        self._committed |= offsets

    def commit_again(self) -> None:
        """Note that a commit was refused: offer every position once more."""
        self._committed.clear()

    def forget(self, partitions: list[Partition]) -> None:
        """Drop partitions that have left."""
        for partition in partitions:
            self._partitions.pop(partition, None)
            self._committed.pop(partition, None)

    def position(self, partition: Partition) -> int | None:
        """Return the next offset to read below which all is safe, or None as long as nothing is."""
        tracked = self._partitions.get(partition)
        return tracked.position if tracked else None

    def committed_in(self, partition: Partition) -> int | None:
        """Return what this member committed last of a partition, or None; from any thread."""
        return self._committed.get(partition)

    def unfinished_in(self, partition: Partition) -> int:
        """Return the records of a partition that are polled and not safe yet; from any thread."""
        tracked = self._partitions.get(partition)
        return tracked.unfinished if tracked else 0

    def oldest_unfinished_s(self) -> float:
        """Return when the oldest unfinished record arrived, on the monotonic clock, or 0 when there is none."""
        return min((t.arrivals[0][1] for t in self._partitions.values() if t.arrivals), default=0.0)
