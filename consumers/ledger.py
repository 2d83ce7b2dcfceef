"""What a group has committed, written and read through its consumer."""

import time
from collections import deque
from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, TopicPartition

from pelton.consumers.assignment import Partition
from pelton.consumers.standing import Standing
from pelton.errors import BrokerUnavailable
from pelton.kafka_errors import failure


class Ledger:
    """Committed offsets and the note beside each; belongs to whoever polls the consumer."""

    def __init__(self, consumer: Consumer, standing: Standing | None = None) -> None:
        self.consumer = consumer
        self._standing = standing
        self._asked: dict[frozenset[tuple[str, int, int]], float] = {}
        self.took_s = deque[float](maxlen=100)
        """How long commits took, from the question to the broker's answer; whoever measures takes them out."""

    @property
    def admitted(self) -> bool:
        """Whether the group knows this member: a static one that commits between two sessions is fenced."""
        return self._standing is None or self._standing.holds(self.consumer.memberid())

    def commit(self, offsets: Mapping[Partition, int], notes: Mapping[Partition, str], *, wait: bool) -> None:
        """Commit the next offsets to read, each with its note if it has one; with `wait` until the broker has answered.

        Raises:
            KafkaFailure: when the group does not know this member; with `wait`, when the broker refuses one of them
                or does not answer.
        """
        if not self.admitted:
            raise BrokerUnavailable("the group does not know this member at the moment")
        positions = [
            TopicPartition(topic, number, offset, notes.get((topic, number), ""))
            for (topic, number), offset in offsets.items()
        ]
        started_s = time.monotonic()
        try:
            if wait:
                _check(self.consumer.commit(offsets=positions, asynchronous=False))
                self.took_s.append(time.monotonic() - started_s)
            else:
                self.consumer.commit(offsets=positions, asynchronous=True)
                self._asked[_key(positions)] = started_s
        except KafkaException as error:
            raise failure(error) from error

    def answered(self, positions: list[TopicPartition]) -> None:
        """Note the answer to a commit that nobody waits for; those before it without one will never have any."""
        if (started_s := self._asked.get(_key(positions))) is not None:
            self.took_s.append(time.monotonic() - started_s)
            self._asked = {key: asked_s for key, asked_s in self._asked.items() if asked_s > started_s}

    def notes(self, partitions: Iterable[Partition], timeout_s: float) -> dict[Partition, str]:
        """Return the note beside each committed offset, empty where there is none; asks the broker.

        Raises KafkaFailure when the broker refuses or does not answer in time.
        """
        found = self._committed(partitions, timeout_s)
        return {(at.topic, at.partition): at.metadata or "" for at in found}

    def offsets(self, partitions: Iterable[Partition], timeout_s: float) -> dict[Partition, int]:
        """Return the committed offsets, without those that have none; waits for transactions that are pending.

        Raises KafkaFailure when the broker refuses or does not answer in time.
        """
        found = self._committed(partitions, timeout_s)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def ends(self, partitions: Iterable[Partition], timeout_s: float) -> dict[Partition, int]:
        """Return where each partition ends for a reader of committed records; asks the broker.

        Raises KafkaFailure when the broker refuses or does not answer in time.
        """
        wanted = [TopicPartition(topic, number, OFFSET_END) for topic, number in partitions]
        try:
            found = self.consumer.offsets_for_times(wanted, timeout=timeout_s) if wanted else []
            _check(found)
        except KafkaException as error:
            raise failure(error) from error
        return {(at.topic, at.partition): at.offset for at in found}

    def counts(self, topics: Iterable[str], timeout_s: float) -> dict[str, int]:
        """Return how many partitions each topic has, 0 where there is no such topic; asks the broker.

        A topic of which the broker tells nothing is left out. Raises KafkaFailure when no broker answers in time.
        """
        try:
            found = [self.consumer.list_topics(name, timeout_s).topics[name] for name in topics]
        except KafkaException as error:
            raise failure(error) from error
        told = [each for each in found if each.error is None or each.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART]
        return {each.topic: len(each.partitions) for each in told}

    def _committed(self, partitions: Iterable[Partition], timeout_s: float) -> list[TopicPartition]:
        wanted = [TopicPartition(topic, number) for topic, number in partitions]
        try:
            found = self.consumer.committed(wanted, timeout=timeout_s)
            _check(found)
        except KafkaException as error:
            raise failure(error) from error
        return found

    def end_seen(self, partition: Partition) -> int | None:
        """Return the end of a partition as of the last fetch from it, or None before the first; asks nobody."""
        _, end = self.consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        return end if end >= 0 else None


def _key(positions: list[TopicPartition]) -> frozenset[tuple[str, int, int]]:
    return frozenset((at.topic, at.partition, at.offset) for at in positions)


def _check(answered: list[TopicPartition]) -> None:
    for at in answered:
        if at.error is not None:
            raise KafkaException(at.error)
