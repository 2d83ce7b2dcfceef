"""What is the next record of a partition: the end alone does not say, behind markers, aborted records and holes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message, TopicPartition

from pelton.consumers.assignment import Partition
from pelton.deadline import Deadline

POLL_S = 0.2
READING: dict[str, Any] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "max.partition.fetch.bytes": 64 * 1024,
    "queued.max.messages.kbytes": 1024,
    "fetch.queue.backoff.ms": 20,
}
"""Properties of a consumer that looks at one record now and then."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The next record that a reader of committed records would get; without an offset there is none.

    `time_ms` is its Kafka timestamp, None for a record without one.
    """

    offset: int | None = None
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    begin: int
    end: int
    ahead: Ahead

    @property
    def next(self) -> int:
        """The offset before which there is no record, from `begin` on."""
        return self.end if self.ahead.offset is None else self.ahead.offset

    def answers(self, reached: int, end: int) -> bool:
        """Tell whether nothing can have changed for a reader who stands at `reached`."""
        known = end >= self.end if self.ahead.offset is not None else end == self.end
        return known and self.begin <= reached <= self.next


class Lookout:
    """Reads one record where a reader stands, with a consumer that belongs to it; belongs to one thread.

    What was seen holds until the reader has passed it, so a reader that stands still costs one fetch.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._seen: dict[Partition, _Seen] = {}

    def passed(self, at: Partition, reached: int, end: int) -> int:
        """Return how far a reader at `reached` has really come, as far as was seen: up to the next record.

        An end before the one that was known is that of a topic made anew, of which nothing was seen.
        """
        seen = self._seen.get(at)
        return max(reached, seen.next) if seen is not None and seen.begin <= reached and seen.end <= end else reached

    def look(
        self, reached: Mapping[Partition, int], ends: Mapping[Partition, int], deadline: Deadline
    ) -> dict[Partition, Ahead]:
        """Return what is ahead of each partition's offset in `reached`; those that took too long are left out.

        At an end nothing is, and nobody is asked. Raises KafkaException when the broker refuses.
        """
        left = {at: offset for at, offset in reached.items() if offset < ends[at]}
        known = {at: seen for at, seen in self._seen.items() if at in left and seen.answers(left[at], ends[at])}
        asked = {at: self.passed(at, offset, ends[at]) for at, offset in left.items() if at not in known}
        if asked:
            try:
                known |= self._read(asked, ends, deadline)
            finally:
                self._consumer.unassign()
        self._seen |= known
        return dict.fromkeys(reached.keys() - left, Ahead()) | {at: seen.ahead for at, seen in known.items()}

    def _read(
        self, asked: Mapping[Partition, int], ends: Mapping[Partition, int], deadline: Deadline
    ) -> dict[Partition, _Seen]:
        found: dict[Partition, _Seen] = {}
        self._consumer.incremental_assign([TopicPartition(*at, offset) for at, offset in asked.items()])
        while len(found) < len(asked) and not deadline.expired:
            wait_s = min(POLL_S, deadline.remaining_s())
            for message in self._consumer.consume(len(asked) - len(found), wait_s):
                at = (message.topic() or "", message.partition() or 0)
                if at in asked and at not in found:
                    found[at] = _Seen(asked[at], ends[at], _ahead(message, ends[at]))
                    # Not paused: to resume it the next time would cost a second of silence, every other time.
                    self._consumer.incremental_unassign([TopicPartition(*at)])
        return found


def _ahead(message: Message, end: int) -> Ahead:
    if (error := message.error()) is not None:
        if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own codes begin so
            raise KafkaException(error)
        return Ahead()
    kind, time_ms = message.timestamp()
    offset = message.offset() or 0
    # What was written since the end was asked for belongs to the next look.
    return Ahead(offset, None if kind == TIMESTAMP_NOT_AVAILABLE else time_ms) if offset < end else Ahead()
