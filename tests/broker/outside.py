"""A plain Kafka client, such as anybody has: what it does not see has not happened."""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)

from pelton.deadline import Deadline
from pelton.kafka_java import Java

QUIET = {"log_level": 0}
ANSWER_S = 20.0
LOOKS = 10
"""So many looks at an open transaction outlast an end that was asked for before."""
PENDING_S = 0.3
"""A broker that does not tell offsets for so long does not know them yet."""


class Position(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class Record(NamedTuple):
    """A record to send, as bytes."""

    value: bytes | None
    key: bytes | None = None
    headers: Iterable[tuple[str, bytes | None]] = ()
    partition: int = -1


def event(x: float, **wishes: Any) -> bytes:
    """Return the value of an event for the models in `packages`; the score of it is 2x."""
    return json.dumps({"x": x, **wishes}).encode()


class Hold:
    """Keeps a batch in the model `obedient` for as long as it is not released: `event(x, hold=hold.file)`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / f"hold-{uuid.uuid4().hex[:8]}"
        self._reached = self._file.with_name(f"{self._file.name}.reached")
        self._file.touch()

    @property
    def file(self) -> str:
        """The file that the event names."""
        return str(self._file)

    def reached(self) -> bool:
        """Tell whether the model is held."""
        return self._reached.exists()

    def forget(self) -> None:
        """Forget that the model was held, until it is again."""
        self._reached.unlink()

    def release(self) -> None:
        """Let the model go on."""
        self._file.unlink(missing_ok=True)


class Outside:
    """Sends events, reads what came of them, and asks the broker about a group; joins nothing."""

    def __init__(self, brokers: str) -> None:
        self.brokers = brokers
        self.admin = AdminClient({"bootstrap.servers": brokers, "metadata.max.age.ms": 1000, **QUIET})
        self._groups: dict[str, Consumer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for consumer in self._groups.values():
            consumer.close()

    def send(self, topic: str, *records: Record, **properties: Any) -> list[Position]:
        """Send records and return where each of them is, in the same order."""
        found: dict[int, Position] = {}
        producer = Producer({"bootstrap.servers": self.brokers, "linger.ms": 1, **QUIET, **properties})
        for number, record in enumerate(records):

            def report(error: Any, message: Message, number: int = number) -> None:
                assert error is None, error
                found[number] = Position(message.topic(), message.partition(), message.offset())

            producer.produce(
                topic, record.value, record.key, record.partition, headers=list(record.headers), on_delivery=report
            )
            producer.poll(0)
        assert producer.flush(ANSWER_S) == 0
        return [found[number] for number in range(len(records))]

    def read(self, topic: str) -> list[Message]:
        """Return all that a read_committed reader finds in a topic, up to its end as of now."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.brokers,
                "group.id": "outside",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **QUIET,
            }
        )
        left = {number: end for number, end in self.ends(topic).items() if end}
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        messages: list[Message] = []
        deadline = Deadline.after(ANSWER_S)
        while left:
            assert not deadline.expired, f"{topic}: {len(messages)} records read, not up to {left}"
            for message in consumer.consume(10_000, 0.1):
                assert message.error() is None, message.error()
                messages.append(message)
            # Not the last message: what ends a transaction, and what was aborted, is none.
            reached = consumer.position([TopicPartition(topic, number) for number in left])
            left = {at.partition: left[at.partition] for at in reached if at.offset < left[at.partition]}
        consumer.close()
        return messages

    def scores(self, sink: str, key: bytes | None = None) -> dict[Position, list[Any]]:
        """Return the scores in a sink, of one key or of all, by the record they belong to."""
        found: dict[Position, list[Any]] = defaultdict(list)
        for message in self.read(sink):
            if message.value() is None or (key and message.key() != key):
                continue
            wire = json.loads(message.value())
            found[Position(**wire["source"])].append(wire["score"])
        return dict(found)

    def letters(self, dead_letter: str) -> list[Position]:
        """Return the positions of the records that became dead letters, sorted."""
        names = [f"__connect.errors.{part}" for part in Position._fields]
        told = [{name: (value or b"").decode() for name, value in m.headers() or ()} for m in self.read(dead_letter)]
        found = [[headers[name] for name in names] for headers in told]
        return sorted(Position(topic, int(number), int(offset)) for topic, number, offset in found)

    def open_transactions(self, topic: str) -> set[int]:
        """Return the partitions that hold records of a transaction which has not ended."""
        latest = {TopicPartition(topic, number): OffsetSpec.latest() for number in self.ends(topic)}
        stable, last = (
            self.admin.list_offsets(latest, isolation_level=level, request_timeout=ANSWER_S)
            for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
        )
        return {at.partition for at in latest if stable[at].result(ANSWER_S).offset < last[at].result(ANSWER_S).offset}

    def stays_open(self, topic: str) -> set[int]:
        """Return the partitions of which a transaction is open, and was not just about to end."""
        return set.intersection(*(self.open_transactions(topic) for _ in range(LOOKS)))

    def ends(self, topic: str) -> dict[int, int]:
        """Return the end offset of each partition."""
        consumer = self._of_group("outside")
        numbers = consumer.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=ANSWER_S)[1]
            for number in numbers
        }

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the committed offset of each partition, 0 where there is none."""
        asked = [TopicPartition(topic, number) for number in self.ends(topic)]
        try:
            told = self._of_group(group).committed(asked, timeout=ANSWER_S / 2)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            # A client that lives through a broker's restart may never ask its coordinator again; another one does.
            self._groups.pop(group).close()
            told = self._of_group(group).committed(asked, timeout=ANSWER_S)
        return {at.partition: max(0, at.offset) for at in told}

    def offsets_pending(self, group: str, topic: str) -> bool:
        """Tell whether a transaction that has not ended holds offsets of a group."""
        asked = [TopicPartition(topic, number) for number in self.ends(topic)]
        try:
            self._of_group(group).committed(asked, timeout=PENDING_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            return True
        return False

    def finished(self, group: str, *topics: str) -> bool:
        """Tell whether a group has committed everything that the topics hold."""
        return all(self.committed(group, topic) == self.ends(topic) for topic in topics)

    def members(self, group: str) -> set[str]:
        """Return the ids of a group's members; one that left and came back has another."""
        found = self.admin.describe_consumer_groups([group], request_timeout=ANSWER_S)[group].result(ANSWER_S)
        return {member.member_id for member in found.members}

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic have so many partitions from now on."""
        self.admin.create_partitions([NewPartitions(topic, total)], operation_timeout=ANSWER_S)[topic].result(ANSWER_S)

    def delete(self, topic: str) -> None:
        """Delete a topic with all that is in it."""
        self.admin.delete_topics([topic], operation_timeout=ANSWER_S)[topic].result(ANSWER_S)

    def throttle_producer(self, client_id: str, bytes_per_s: int) -> None:
        """Let the broker hold back the answers to one producer that sends more than so much."""
        Java.ready().run(
            "org.apache.kafka.tools.ConfigCommand",
            *("--bootstrap-server", self.brokers, "--alter"),
            *("--add-config", f"producer_byte_rate={bytes_per_s}"),
            *("--entity-type", "clients", "--entity-name", client_id),
        )

    def configure_group(self, group: str, **config: int) -> None:
        """Set what the broker decides for a group of the new protocol: `session_timeout_ms` and so on."""
        self.configure(ResourceType.GROUP, group, {f"consumer.{key.replace('_', '.')}": n for key, n in config.items()})

    def configure(self, kind: ResourceType, name: str, config: Mapping[str, int]) -> None:
        """Change settings of a topic or a group."""
        entries = [ConfigEntry(key, str(n), incremental_operation=AlterConfigOpType.SET) for key, n in config.items()]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource])[resource].result(ANSWER_S)

    def _of_group(self, group: str) -> Consumer:
        if group not in self._groups:
            self._groups[group] = Consumer(
                {"bootstrap.servers": self.brokers, "group.id": group, "enable.auto.commit": False, **QUIET}
            )
        return self._groups[group]
