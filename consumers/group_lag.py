"""How far any consumer group is behind, told by what a reader of committed records could really still read."""

import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import offsets_of
from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, KafkaFailure
from pelton.kafka_errors import failure, of_settings

_silent = logging.getLogger("pelton.group_lag.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False

POLL_S = 0.2
_READING: dict[str, Any] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
    "max.partition.fetch.bytes": 64 * 1024,
}


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Where a group stands in one partition.

    `records` counts offsets from the first that can be read to the end, holes of compaction included. `oldest_s` is
    the age of that first record by its timestamp and our clock, None when there is none.
    """

    topic: str
    partition: int
    committed: int | None
    start: int
    end: int
    position: int
    records: int
    oldest_s: float | None
    member: str

    @property
    def at(self) -> Partition:
        """Topic and number."""
        return self.topic, self.partition


class GroupLag:
    """Asks the broker about one group, which is neither joined nor changed.

    The end of a partition says too much: behind the last record there may be transaction markers, aborted records or
    nothing at all, after compaction. So where an end lies ahead, the next record is read; if there is none, the lag
    is zero. https://github.com/confluentinc/librdkafka/issues/2539 tells what else happens.
    """

    def __init__(self, properties: Mapping[str, Any], group: str, *, reset: str = "earliest") -> None:
        self._group, self._reset = group, reset
        own = {"group.id": f"pelton-lag-{uuid.uuid4().hex[:8]}", "logger": _silent}
        with of_settings():
            self._admin = AdminClient(dict(properties), logger=_silent)
            self._reader = Consumer({**properties, **_READING, **own})

    def look(self, timeout_s: float = 10.0) -> list[PartitionLag]:
        """Return all partitions that the group has committed in or that its members hold, sorted.

        A partition without a commit is behind from where `reset` lets the group begin. Raises KafkaFailure when the
        broker refuses or does not answer in time.
        """
        deadline = Deadline.after(timeout_s)
        try:
            committed, members = self._committed(deadline), self._members(deadline)
            wanted = sorted({*committed, *members})
            if not wanted:
                raise KafkaFailure(f"group {self._group}: nothing is committed, and nobody holds a partition")
            ends = offsets_of(self._admin, wanted, "latest", deadline)
            starts = offsets_of(self._admin, wanted, "earliest", deadline)
            begins = starts if self._reset == "earliest" else ends
            reached = {at: max(committed.get(at, begins[at]), starts[at]) for at in wanted}
            nexts = self._next({at: reached[at] for at in wanted if reached[at] < ends[at]}, ends, deadline)
        except KafkaException as error:
            raise failure(error) from error
        now_ms = time.time() * 1000
        return [
            PartitionLag(
                topic=at[0],
                partition=at[1],
                committed=committed.get(at),
                start=starts[at],
                end=ends[at],
                position=reached[at],
                records=ends[at] - (found.offset() or 0) if (found := nexts.get(at)) else 0,
                oldest_s=max(0.0, (now_ms - found.timestamp()[1]) / 1000) if found else None,
                member=members.get(at, ""),
            )
            for at in wanted
        ]

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()

    def _committed(self, deadline: Deadline) -> dict[Partition, int]:
        request = [ConsumerGroupTopicPartitions(self._group)]
        futures = self._admin.list_consumer_group_offsets(request, request_timeout=_left_s(deadline))
        found = futures[self._group].result(_left_s(deadline)).topic_partitions or []
        _check(found)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def _members(self, deadline: Deadline) -> dict[Partition, str]:
        futures = self._admin.describe_consumer_groups([self._group], request_timeout=_left_s(deadline))
        try:
            described = futures[self._group].result(_left_s(deadline))
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return {}
            raise
        return {
            (at.topic, at.partition): member.client_id
            for member in described.members
            for at in (member.assignment.topic_partitions if member.assignment else [])
        }

    def _next(
        self, reached: Mapping[Partition, int], ends: Mapping[Partition, int], deadline: Deadline
    ) -> dict[Partition, Message]:
        """Return the next record of each partition; those that have none up to their end are left out."""
        open_, found = set(reached), dict[Partition, Message]()
        self._reader.assign([TopicPartition(*at, offset) for at, offset in reached.items()])
        while open_:
            if deadline.expired:
                raise BrokerUnavailable(f"no answer in time from {len(open_)} partitions")
            for message in self._reader.consume(len(open_), POLL_S):
                at = (message.topic() or "", message.partition() or 0)
                if at not in open_:
                    continue
                error = message.error()
                if error is None:
                    found[at] = message
                elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own codes begin so
                    raise KafkaException(error)
                open_.discard(at)
                self._reader.pause([TopicPartition(*at)])
        self._reader.unassign()
        return {at: message for at, message in found.items() if (message.offset() or 0) < ends[at]}


def _left_s(deadline: Deadline) -> float:
    return max(0.01, deadline.remaining_s())


def _check(found: Iterable[TopicPartition]) -> None:
    for at in found:
        if at.error is not None:
            raise KafkaException(at.error)
