"""How far any consumer group is behind, told by what a reader of committed records could really still read."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)

from pelton.admin_calls import AdminCalls
from pelton.consumers.assignment import Partition
from pelton.consumers.lag import age_s, offsets_of, within_log
from pelton.consumers.lookout import READING, Ahead, Lookout
from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, KafkaFailure
from pelton.kafka_errors import failure, of_settings
from pelton.silent_log import silent_log

LOOK_S = 10.0
_MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART,)

_silent = silent_log("pelton.group_lag.librdkafka")


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Where a group stands in one partition.

    `records` counts offsets from the first that can be read to the end, holes of compaction included. `oldest_s` is
    the age of that first record by its timestamp and our clock, 0 when there is none, None when it has no timestamp.
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

    def __init__(
        self, properties: Mapping[str, Any], group: str, *, reset: str = "earliest", topics: Sequence[str] = ()
    ) -> None:
        self._group, self._reset, self._topics = group, reset, topics
        self.members = 0
        """How many members the group had at the last look."""
        own = {"group.id": f"pelton-lag-{uuid.uuid4().hex[:8]}", "logger": _silent}
        self._calls = AdminCalls(properties, LOOK_S)
        self._admin = self._calls.client
        with of_settings():
            self._reader = Consumer({**properties, **READING, **own})
        self._lookout = Lookout(self._reader)

    def look(self, timeout_s: float = LOOK_S) -> list[PartitionLag]:
        """Return all partitions of the topics given, else of those that the group has committed in or members hold.

        Topics that were deleted are left out. A partition without a commit is behind from where `reset` lets
        the group begin, and so is one whose commit lies beyond its log. Raises KafkaFailure when the broker refuses or
        does not answer in time, and where there is no partition.
        """
        deadline = Deadline.after(timeout_s)
        self._calls.begin(timeout_s)
        try:
            # In this order: asked for offsets while the coordinator only starts, the client crashes (librdkafka #5040).
            members, committed = self._members(deadline), self._committed(deadline)
            wanted = self._partitions(self._topics or sorted({topic for topic, _ in (*committed, *members)}), deadline)
            ends = offsets_of(self._admin, wanted, "latest", deadline)
            starts = offsets_of(self._admin, ends, "earliest", deadline)
            if not starts:
                raise KafkaFailure(f"group {self._group}: {self._nothing()}")
            begins = starts if self._reset == "earliest" else ends
            begun = within_log(self._admin, committed, ends, deadline)
            reached = {at: max(begun.get(at, begins[at]), starts[at]) for at in starts}
            aheads = self._ahead(reached, ends, deadline)
        except KafkaException as error:
            raise failure(error) from error
        return [
            PartitionLag(
                topic=at[0],
                partition=at[1],
                committed=committed.get(at),
                start=starts[at],
                end=ends[at],
                position=reached[at],
                records=0 if ahead.offset is None else ends[at] - ahead.offset,
                oldest_s=0.0 if ahead.offset is None else age_s(ahead.time_ms),
                member=members.get(at, ""),
            )
            for at, ahead in ((at, aheads[at]) for at in starts)
        ]

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()

    def _committed(self, deadline: Deadline) -> dict[Partition, int]:
        request = [ConsumerGroupTopicPartitions(self._group)]
        ask = self._admin.list_consumer_group_offsets
        answer = self._calls.of_group(
            lambda: ask(request, request_timeout=_left_s(deadline))[self._group], of=f"group {self._group}"
        )
        found = answer.topic_partitions or []
        _check(found)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def _partitions(self, topics: Sequence[str], deadline: Deadline) -> list[Partition]:
        """Return the partitions of the topics; unlike `list_topics` this makes no topic by accident."""
        if not topics:
            return []
        futures = self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_left_s(deadline))
        found = {
            name: self._calls.result(future, unless=_MISSING, of=f"topic {name}") for name, future in futures.items()
        }
        return [(name, at) for name, each in found.items() if each for at in range(len(each.partitions))]

    def _nothing(self) -> str:
        if self._topics:
            return f"there is no topic {' or '.join(self._topics)}"
        return "nothing is committed, and nobody holds a partition, in any topic we may see"

    def _members(self, deadline: Deadline) -> dict[Partition, str]:
        ask = self._admin.describe_consumer_groups
        described = self._calls.of_group(
            lambda: ask([self._group], request_timeout=_left_s(deadline))[self._group],
            unless=(KafkaError.GROUP_ID_NOT_FOUND,),
            of=f"group {self._group}",
        )
        self.members = len(described.members) if described else 0
        if described is None:
            return {}
        return {
            (at.topic, at.partition): member.client_id
            for member in described.members
            for at in (member.assignment.topic_partitions if member.assignment else [])
        }

    def _ahead(
        self, reached: Mapping[Partition, int], ends: Mapping[Partition, int], deadline: Deadline
    ) -> dict[Partition, Ahead]:
        """Return what is ahead of each partition."""
        found = self._lookout.look(reached, ends, deadline)
        if missing := len(reached) - len(found):
            raise BrokerUnavailable(f"no answer in time from {missing} partitions")
        return found


def _left_s(deadline: Deadline) -> float:
    return max(0.01, deadline.remaining_s())


def _check(found: Iterable[TopicPartition]) -> None:
    for at in found:
        if at.error is not None:
            raise KafkaException(at.error)
