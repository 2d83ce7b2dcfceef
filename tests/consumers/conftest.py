"""Blocks of records as a poll brings them, a clock that stands still, and a source on Kafka in memory."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pelton.consumers.assignment import Assignment, Partition
from pelton.consumers.source import Source
from pelton.schemas.records import Records
from pelton.testing import FakeKafka


def make_block(
    offsets: Sequence[int],
    *,
    topic: str = "in",
    partition: int = 0,
    epoch: int = 1,
    arrived_s: float = 0.0,
    n_bytes: int | None = None,
    events: Sequence[Any] | None = None,
    due_s: float = math.inf,
) -> Records:
    """Records without messages; each weighs ten bytes, and its event is its offset, unless told otherwise."""
    size = 10 * len(offsets) if n_bytes is None else n_bytes
    events = list(offsets) if events is None else list(events)
    return Records(topic, partition, epoch, [None] * len(offsets), list(offsets), events, size, arrived_s, due_s)


@pytest.fixture
def block() -> Callable[..., Records]:
    """`block([3, 4], partition=1, epoch=2)` makes records."""
    return make_block


class Clock:
    """The monotonic clock of the module under test; it moves when the test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stands in for `time` in the batcher, in the source and in deadlines."""
    made = Clock()
    for module in ("consumers.batcher", "consumers.source", "deadline"):
        monkeypatch.setattr(f"pelton.{module}.time", made)
    return made


class Diary:
    """A listener that writes down what it hears, and what the source owned at that moment."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self.heard: list[tuple[str, list[Partition], list[Partition]]] = []

    def on_assigned(self, partitions: list[Partition]) -> None:
        self.heard.append(("assigned", partitions, self._assignment.partitions))

    def on_revoked(self, partitions: list[Partition]) -> None:
        self.heard.append(("revoked", partitions, self._assignment.partitions))

    def on_lost(self, partitions: list[Partition]) -> None:
        self.heard.append(("lost", partitions, self._assignment.partitions))


class Member:
    """A source that has joined its group."""

    def __init__(self, kafka: FakeKafka, topics: Sequence[str] = ("in",), max_records: int = 512, **config: Any):
        self.kafka = kafka
        config = {"group.id": "g", "partition.assignment.strategy": "cooperative-sticky", **config}
        self.source = Source(config, list(topics), Assignment(), max_records=max_records, make_consumer=kafka.consumer)
        self.consumer = kafka.consumers[-1]
        self.diary = Diary(self.source.assignment)
        self.source.join(self.diary)

    def poll(self) -> list[tuple[int, list[int]]]:
        """What one poll brings: partition and offsets."""
        return [(records.partition, records.offsets) for records in self.source.poll(0)]


@pytest.fixture
def kafka() -> FakeKafka:
    """The topics `in` with four partitions and `also` with two; a member gets all of what it subscribes to."""
    return FakeKafka({"in": 4, "also": 2})


@pytest.fixture
def manual_kafka() -> FakeKafka:
    """The same, where the test plays the group's coordinator."""
    return FakeKafka({"in": 4, "also": 2}, manual=True)


@pytest.fixture
def member() -> Callable[..., Member]:
    """`member(kafka, topics, max_records, **config)` joins the group."""
    return Member
