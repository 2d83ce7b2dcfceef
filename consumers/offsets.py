"""What may be committed: the highest offset below which every record received is finished."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE

from pelton.consumers.assignment import Partition
from pelton.schemas.records import Message, Records

COMPACT_AT = 8192


class Reached(NamedTuple):
    """Where a reader stands: at the first record without an outcome, or where it will read next.

    `offset` is None while nothing was read, `in_hand` counts records polled and not safe yet, and `time_ms` is the
    Kafka timestamp of the oldest of them, None for none or an unknown one.
    """

    offset: int | None = None
    in_hand: int = 0
    time_ms: int | None = None


class _Arrival(NamedTuple):
    offsets: list[int]
    messages: Sequence[Message]
    arrived_s: float

    def first_from(self, offset: int) -> tuple[int, int | None] | None:
        """Return offset and time of the first record at or behind an offset, or None."""
        row = bisect_left(self.offsets, offset)
        if row == len(self.offsets):
            return None
        kind, time_ms = self.messages[row].timestamp() if self.messages else (TIMESTAMP_NOT_AVAILABLE, 0)
        return self.offsets[row], None if kind == TIMESTAMP_NOT_AVAILABLE else time_ms


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
    arrivals: deque[_Arrival] = field(default_factory=deque)
    read_to: int | None = None

    def received(self, records: Records) -> None:
        """Note records in the order in which they were polled."""
        self.pending += records.offsets
        self.arrivals.append(_Arrival(records.offsets, records.messages, records.arrived_s))
        self.read_to = records.offsets[-1] + 1

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
        while self.arrivals and self.arrivals[0].offsets[-1] < self.position:
            self.arrivals.popleft()
        if self.head > COMPACT_AT:
            del self.pending[: self.head]
            self.head = 0

    @property
    def unfinished(self) -> int:
        """Records received and not yet passed."""
        return len(self.pending) - self.head

    @property
    def reached(self) -> Reached:
        """Where this assignment stands; from any thread, while another moves it on."""
        for arrival in self.arrivals.copy():
            if (found := arrival.first_from(self.position or 0)) is not None:
                return Reached(found[0], max(1, self.unfinished), found[1])
        return Reached(self.read_to)


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

    def reached_in(self, partition: Partition, position: int | None) -> Reached:
        """Return where the reader stands in a partition, given its consumer's `position`; from any thread.

        The consumer's position is noted now and then, but passes what is no record: markers and aborted ones.
        """
        tracked = self._partitions.get(partition)
        found = tracked.reached if tracked else Reached()
        if found.in_hand or position is None:
            return found
        return Reached(max(position, found.offset or 0))

    def unfinished_in(self, partition: Partition) -> int:
        """Return the records of a partition that are polled and not safe yet; from any thread."""
        tracked = self._partitions.get(partition)
        return tracked.unfinished if tracked else 0

    def oldest_unfinished_s(self) -> float:
        """Return when the oldest unfinished record arrived, on the monotonic clock, or 0 when there is none."""
        return min((t.arrivals[0].arrived_s for t in self._partitions.values() if t.arrivals), default=0.0)
