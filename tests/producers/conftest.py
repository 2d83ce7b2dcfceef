"""A sink on Kafka in memory, and blocks of records to write to it."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, TopicPartition

from pelton.deadline import Deadline
from pelton.producers.channel import Channel, Manner
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.exact_sink import ExactSink
from pelton.producers.membership import Membership
from pelton.producers.outputs import OutputRules, Outputs
from pelton.producers.sink import Sink
from pelton.producers.tickets import Settled
from pelton.producers.window import WindowLimits
from pelton.schemas.records import Records
from pelton.schemas.score import ScoreEncoder
from pelton.testing import FakeKafka, make_message


class Event(msgspec.Struct):
    id: str | None = None


def make_records(
    offsets: Sequence[int],
    *,
    partition: int = 0,
    keys: Sequence[bytes | None] | None = None,
    values: Sequence[bytes | None] | None = None,
    headers: Sequence[Any] | None = None,
    stamps_ms: Sequence[int] | None = None,
    unreadable: frozenset[int] = frozenset(),
) -> Records:
    """Records of the topic `events`; the event at offset 7 has the id `e7` and, unless told, the key `k7`."""
    messages = [
        make_message(
            values[row] if values else b'{"id":"e%d"}' % offset,
            keys[row] if keys else b"k%d" % offset,
            partition=partition,
            offset=offset,
            headers=headers[row] if headers else None,
            timestamp_ms=stamps_ms[row] if stamps_ms else 0,
            readable=row not in unreadable,
        )
        for row, offset in enumerate(offsets)
    ]
    events = [Event(f"e{offset}") for offset in offsets]
    return Records("events", partition, 1, messages, list(offsets), events, sum(map(len, messages)), time.monotonic())


class Rig:
    """A sink and the topics it writes to: `scores` with four partitions, `dead` with one."""

    def __init__(
        self,
        *,
        max_in_flight: int = 1000,
        max_in_flight_bytes: int = 2**26,
        config: dict[str, Any] | None = None,
        **rules: Any,
    ) -> None:
        self.kafka = FakeKafka({"scores": 4, "dead": 1})
        self.outputs = Outputs(
            OutputRules("scores", 4, **{"id_attribute": "id", **rules}), ScoreEncoder("risk", "1@abc")
        )
        self.config = {"enable.idempotence": True, **(config or {})}
        self.dead_letters = DeadLetters("dead", "risk@1@abc")
        self.sink: Any = self.make_sink(WindowLimits(max_in_flight, max_in_flight_bytes))

    def make_sink(self, limits: WindowLimits) -> Any:
        return Sink(self.config, self.outputs, self.dead_letters, limits=limits, make_producer=self.kafka.producer)

    def channel(self, manner: Manner) -> Channel:
        """A channel of its own, beside the sink's."""
        return Channel(self.config, manner, self.kafka.producer, lambda _: None)

    def settle(self, rounds: int = 20) -> list[Settled]:
        """Serve reports until nothing is on its way, or a few times at most; return the blocks that became safe."""
        safe = self.sink.settled()
        while self.sink.in_flight and (rounds := rounds - 1):
            safe += self.sink.settled()
        return safe

    @property
    def scores(self) -> list[tuple[int, Any]]:
        """What the sink holds: source offset and score, partition after partition, as they lie there."""
        found = [json.loads(message.value()) for message in self.kafka.read("scores")]
        return [(value["source"]["offset"], value["score"]) for value in found]

    @property
    def dead(self) -> list[tuple[int, str]]:
        """What the dead-letter topic holds: source offset and error code."""
        found = [dict(message.headers()) for message in self.kafka.read("dead")]
        return [(int(names["__connect.errors.offset"]), names["pelton-error-code"].decode()) for names in found]


class ExactRig(Rig):
    """A transactional sink, in the name of a member of the group `g` that owns all of `events` unless it has `left`."""

    def __init__(self, **options: Any) -> None:
        config = {"transactional.id": "t", "transaction.timeout.ms": 10_000, **options.pop("config", {})}
        self.left: set[int] = set()
        self.notes: dict[tuple[str, int], str] = {}
        self.ended: list[str] = []
        super().__init__(config=config, **options)

    def make_sink(self, limits: WindowLimits) -> Any:
        self.kafka.topics["events"] = [[] for _ in range(4)]
        self.consumer = self.kafka.consumer({"group.id": "g"})
        self.consumer.subscribe(["events"])
        self.consumer.consume(1, 0)
        self.tell_member()
        membership = Membership(
            owns=lambda records: records.partition not in self.left,
            member=lambda: self.member,
            notes=lambda positions: {at: self.notes[at] for at in positions if at in self.notes},
            committed=self.ask_committed,
        )
        return ExactSink(
            self.config,
            self.outputs,
            self.dead_letters,
            membership,
            limits=limits,
            make_producer=self.kafka.producer,
            ended=self.ended.append,
        )

    def tell_member(self) -> None:
        """Take the member's metadata, as a poll does."""
        self.member: Any = self.consumer.consumer_group_metadata()

    def ask_committed(self, partitions: Iterable[tuple[str, int]], timeout_s: float) -> dict[tuple[str, int], int]:
        assert timeout_s > 0
        found = self.consumer.committed([TopicPartition(*at) for at in partitions], timeout_s)
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def commit(self, rounds: int = 1, within_s: float = 5.0) -> list[list[int]]:
        """Try to commit a few times; return the offsets of the blocks that settled."""
        for _ in range(rounds):
            if self.sink.commit(Deadline.after(within_s)):
                break
        return [block.records.offsets for block in self.sink.settled()]

    def fail(self, call: str, *errors: KafkaError) -> None:
        self.kafka.coordinator.fail(call, *errors)

    def rival(self) -> Any:
        """Start another producer of the same transactional id."""
        producer = self.kafka.producer(self.config)
        producer.init_transactions(1)
        return producer

    @property
    def calls(self) -> list[str]:
        return [name for name, _ in self.kafka.coordinator.calls]

    @property
    def committed(self) -> dict[int, int]:
        """The committed offset of each partition of `events` that has one."""
        found = {n: self.kafka.committed("g", ("events", n)) for n in range(4)}
        return {n: at.offset for n, at in found.items() if at is not None}


@pytest.fixture
def exact() -> Callable[..., ExactRig]:
    """`exact(max_in_flight=…, config=…)` makes a transactional sink; unless `start=False`, it holds its id."""

    def make(*, start: bool = True, **options: Any) -> ExactRig:
        made = ExactRig(**options)
        if start:
            made.sink.start(Deadline.after(5))
        return made

    return make


@pytest.fixture
def rig() -> Callable[..., Rig]:
    """`rig(max_in_flight=…, config=…, key=…)` makes a sink; further arguments are output rules."""
    return Rig


@pytest.fixture
def records() -> Callable[..., Records]:
    """`records([3, 4], keys=…, headers=…)` makes a block."""
    return make_records


@pytest.fixture
def soon() -> Deadline:
    """A deadline that a test with nothing to wait for never reaches."""
    return Deadline.after(20.0)
