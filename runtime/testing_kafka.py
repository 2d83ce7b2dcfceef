"""Kafka in memory, for tests without a broker: topics, committed offsets, refusals and outages."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import ClusterMetadata, PartitionMetadata, TopicMetadata  # type: ignore[attr-defined]

from pelton.testing_consumer import FakeConsumer
from pelton.testing_coordinator import FakeCoordinator, Fate
from pelton.testing_group import PENDING, Answer, FakeGroupMetadata, FakeGroups
from pelton.testing_producer import FakeProducer
from pelton.testing_transactional import FakeTransactionalProducer

Partition = tuple[str, int]
Headers = Sequence[tuple[str, bytes | None]]

NO_TOPIC = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic or partition")
NO_BROKER = KafkaError(KafkaError._TRANSPORT, "Local: Broker transport failure")  # noqa: SLF001 - named so by librdkafka

_offset = methodcaller("offset")


class UnreadableMessage(Message):
    """A message one of whose header names is not UTF-8: the client raises when it is asked for its headers."""

    def headers(self) -> Any:
        """Raise as the client does."""
        raise UnicodeDecodeError("utf-8", b"\xc3\x28", 0, 1, "invalid continuation byte")


def make_message(
    value: bytes | None,
    key: bytes | None = None,
    *,
    topic: str = "events",
    partition: int = 0,
    offset: int = 0,
    headers: Headers | None = None,
    timestamp_ms: int = 0,
    readable: bool = True,
) -> Message:
    """Return a message as a consumer gets it; one that is not `readable` raises when asked for its headers."""
    kind: type[Message] = Message if readable else UnreadableMessage
    return kind(
        topic=topic,
        partition=partition,
        offset=offset,
        key=key,
        value=value,
        headers=None if headers is None else list(headers),
        timestamp=(TIMESTAMP_CREATE_TIME, timestamp_ms),
    )


class FakeKafka:
    """Topics, the clients that use them, and whatever shall go wrong.

    `producer` and `consumer` take the place of `confluent_kafka.Producer` and `Consumer`. Nothing happens by itself:
    a record is delivered in the producer's `poll`, a rebalance is served in the consumer's `consume`. Safe from any
    thread. With `manual` a consumer owns nothing until its `give` is called, otherwise all of what it subscribes to.
    """

    def __init__(self, partitions: Mapping[str, int], *, manual: bool = False) -> None:
        self.topics: dict[str, list[list[Message]]] = {name: [[] for _ in range(n)] for name, n in partitions.items()}
        self.manual = manual
        self.refuse: Callable[[Message], KafkaError | None] = lambda _: None
        """Says why a record cannot be written; its whole batch fails with it, as at a broker."""
        self.refuse_commit: Callable[[TopicPartition], KafkaError | None] = lambda _: None
        """Says why an offset cannot be committed."""
        self.max_bytes: dict[str, int] = {}
        """Bytes a topic takes in one batch of a producer; without an entry it takes any."""
        self.stalled: set[Partition] = set()
        """Partitions whose deliveries wait, until they are taken out of here."""
        self.reachable = True
        """Whether a broker answers; deliveries wait until one does."""
        self.patience_s = 0.01
        """Longest real wait of a call that has nothing to do, whatever its time-out, in seconds."""
        self.commits: list[dict[Partition, int]] = []
        """Every commit that was taken, in order."""
        self.consumers: list[FakeConsumer] = []
        self.producers: list[FakeProducer] = []
        self.changed = threading.Condition()
        """Notified after every write."""
        self.groups = FakeGroups()
        self.coordinator = FakeCoordinator(self)
        self._committed: dict[tuple[str, str, int], TopicPartition] = {}

    def consumer(self, config: Mapping[str, Any], **_: Any) -> FakeConsumer:
        """Make a consumer, by the configuration of a real one."""
        self.consumers.append(FakeConsumer(self, config))
        return self.consumers[-1]

    def producer(self, config: Mapping[str, Any], **_: Any) -> FakeProducer:
        """Make a producer, by the configuration of a real one: with a `transactional.id`, a transactional one."""
        kind = FakeTransactionalProducer if config.get("transactional.id") else FakeProducer
        self.producers.append(kind(self, config))
        return self.producers[-1]

    def write(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int = 0,
        offset: int | None = None,
        headers: Headers | None = None,
        timestamp_ms: int = 0,
        readable: bool = True,
    ) -> Message:
        """Append a record and return it as it lies in the topic; an `offset` further on leaves a gap."""
        with self.changed:
            records = self.topics[topic][partition]
            end = self.end(topic, partition)
            if offset is not None and offset < end:
                raise ValueError(f"{topic}/{partition} ends at {end}; nothing can be written at {offset}")
            message = make_message(
                value,
                key,
                topic=topic,
                partition=partition,
                offset=end if offset is None else offset,
                headers=headers,
                timestamp_ms=timestamp_ms,
                readable=readable,
            )
            records.append(message)
            self.changed.notify_all()
            return message

    def read(self, topic: str) -> list[Message]:
        """Return what a topic holds and is committed, partition after partition."""
        with self.changed:
            found = (message for records in self.topics[topic] for message in records)
            return [message for message in found if self.coordinator.fate(message) is Fate.COMMITTED]

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record of a partition gets."""
        records = self.topics[topic][partition]
        return (records[-1].offset() or 0) + 1 if records else 0

    def start(self, group: str, partition: Partition, *, late: bool) -> int | None:
        """Return where a member of a group begins; None until the transaction has ended that holds its offset."""
        if self.coordinator.pending(group, partition):
            return None
        known = self.committed(group, partition)
        return known.offset if known else self.end(*partition) if late else 0

    def watermarks(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition and the one after its last."""
        records, end = self.topics[topic][partition], self.end(topic, partition)
        return (records[0].offset() or 0) if records else end, end

    def fetch(self, topic: str, partition: int, offset: int, n: int) -> list[Message]:
        """Return up to `n` records of a partition from an offset on, as a read_committed consumer gets them."""
        with self.changed:
            records = self.topics[topic][partition]
            return self.coordinator.stable(records, bisect_left(records, offset, key=_offset), n)

    def answer_commit(self, member: FakeGroupMetadata, offsets: list[TopicPartition]) -> list[Answer]:
        """Return what a member's commit would come to for each partition."""
        refused = self.groups.refusal(member)
        return [Answer(at.topic, at.partition, at.offset, refused or self.refuse_commit(at)) for at in offsets]

    def take_commit(self, group: str, offsets: list[TopicPartition]) -> None:
        """Commit offsets of a group, together with their metadata."""
        self._committed |= {(group, at.topic, at.partition): at for at in offsets}
        self.commits.append({(at.topic, at.partition): at.offset for at in offsets})

    def committed(self, group: str, partition: Partition) -> TopicPartition | None:
        """Return what a group has committed for a partition, or None; what is part of an open transaction is not."""
        return self._committed.get((group, *partition))

    def describe(self, topic: str | None = None) -> ClusterMetadata:
        """Return the metadata of one topic or of all; one that does not exist has its error there."""
        self.check_reachable()
        found = ClusterMetadata()
        for name in self.topics if topic is None else [topic]:
            metadata = found.topics[name] = TopicMetadata()
            metadata.topic = name
            metadata.partitions = {n: PartitionMetadata() for n in range(len(self.topics.get(name, ())))}
            metadata.error = None if name in self.topics else NO_TOPIC
        return found

    def check_reachable(self) -> None:
        """Raise what a client raises when no broker answers, unless one does."""
        if not self.reachable:
            raise KafkaException(NO_BROKER)

    def check_stable(self, group: str, partitions: list[TopicPartition]) -> None:
        """Raise what a client raises when it waits in vain for offsets that an open transaction holds."""
        self.check_reachable()
        if any(self.coordinator.pending(group, (at.topic, at.partition)) for at in partitions):
            raise KafkaException(PENDING)
