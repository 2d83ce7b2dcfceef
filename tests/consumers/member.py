"""A member of a group whose process may die: the turns of the loop, on a Kafka in memory."""

from collections.abc import Iterable

from confluent_kafka import TopicPartition

from pelton.consumers.assignment import Assignment, Partition
from pelton.consumers.batcher import Batcher
from pelton.consumers.offsets import Offsets
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.schemas.rejection import Rejection
from pelton.testing_kafka import FakeKafka

TOPIC = "in"
KILLER = b"kill"


class Died(Exception):
    """The process is gone, with all that it had in hand."""


class Member:
    """One process of the group, from its join to its end: the loop's turns, without a model and a sink."""

    def __init__(self, kafka: FakeKafka, *, limit: int = 3, commit_every: int = 7, max_records: int = 50) -> None:
        self.kafka = kafka
        self.commit_every = commit_every
        self.turns = 0
        self.scored: list[tuple[int, int]] = []
        self.buried: list[tuple[int, int]] = []
        self.batches: list[int] = []
        assignment = Assignment()
        self.source = Source(
            {"group.id": "g", "partition.assignment.strategy": "cooperative-sticky"},
            [TOPIC],
            assignment,
            max_records=max_records,
            make_consumer=kafka.consumer,
        )
        self.consumer = kafka.consumers[-1]
        self.offsets = Offsets()
        self.batcher = Batcher(max_size=16, max_wait_s=0, max_records=64, max_bytes=10**6)
        self.trials = Trials(self.source.ledger, self.batcher, self.offsets, limit)
        self.source.join(self)

    def on_assigned(self, partitions: list[Partition]) -> None:
        self.trials.assigned(partitions)

    def on_revoked(self, partitions: list[Partition]) -> None:
        self.batcher.drop(lambda records: (records.topic, records.partition) in partitions)
        self.trials.give_back(partitions)
        self.commit(wait=True)
        self.on_lost(partitions)

    def on_lost(self, partitions: list[Partition]) -> None:
        self.batcher.drop(lambda records: (records.topic, records.partition) in partitions)
        self.trials.forget(partitions)
        self.offsets.forget(partitions)

    def poll(self) -> None:
        for records in self.trials.admit(self.source.poll(0) if self.batcher.filled < 1 else []):
            records.events = [message.value() for message in records.messages]
            self.offsets.received(records)
            self.batcher.put(records)
        self.trials.step()
        self.turns += 1
        if self.turns % self.commit_every == 0:
            self.commit()

    def score(self) -> None:
        batch = self.batcher.take()
        if batch is None:
            return
        self.batches.append(batch.n_records)
        events = [event for part in batch.parts for event in part.events]
        if KILLER in events:
            raise Died
        for part in batch.parts:
            for offset, event in zip(part.offsets, part.events, strict=True):
                (self.buried if isinstance(event, Rejection) else self.scored).append((part.partition, offset))
            self.offsets.finished(part)
        self.batcher.done()

    def commit(self, *, wait: bool = False) -> None:
        if offsets := self.offsets.committable():
            self.source.ledger.commit(offsets, self.trials.notes(offsets), wait=wait)
            self.offsets.committed(offsets)
            self.trials.passed(offsets)

    def work(self, turns: int = 10_000) -> None:
        """Go on until nothing is left to do, or for so many turns."""
        for _ in range(turns):
            self.poll()
            self.score()
            if done(self.kafka) and not self.trials.active:
                return


def topic(*partitions: Iterable[bytes]) -> FakeKafka:
    kafka = FakeKafka({TOPIC: len(partitions)})
    kafka.patience_s = 0
    for number, values in enumerate(partitions):
        for value in values:
            kafka.write(TOPIC, value, partition=number)
    return kafka


def good(n: int) -> list[bytes]:
    return [b"good"] * n


def committed(kafka: FakeKafka, number: int = 0) -> tuple[int, str]:
    at = kafka.committed("g", (TOPIC, number))
    return (at.offset, at.metadata or "") if at else (-1, "")


def commit(kafka: FakeKafka, offset: int, metadata: str, number: int = 0) -> None:
    kafka.take_commit("g", [TopicPartition(TOPIC, number, offset, metadata)])


def done(kafka: FakeKafka) -> bool:
    numbers = range(len(kafka.topics[TOPIC]))
    return all(committed(kafka, number)[0] == kafka.end(TOPIC, number) for number in numbers)


def live_and_die(kafka: FakeKafka, **options: int) -> tuple[int, list[Member]]:
    """Start one member after the other until one gets through; return the deaths, and all of them."""
    members: list[Member] = []
    while len(members) < 40:
        members.append(Member(kafka, **options))
        try:
            members[-1].work()
        except Died:
            continue
        assert done(kafka), "a member came to rest with work left"
        return len(members) - 1, members
    raise AssertionError("they die for ever")


def all_of(members: list[Member], what: str) -> list[tuple[int, int]]:
    return [place for member in members for place in getattr(member, what)]
