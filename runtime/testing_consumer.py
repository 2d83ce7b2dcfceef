"""A member of a consumer group that reads from Kafka in memory."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition

from pelton.testing_group import FakeGroupMetadata

if TYPE_CHECKING:
    from pelton.testing_kafka import FakeKafka

Partition = tuple[str, int]
OnRebalance = Callable[["FakeConsumer", list[TopicPartition]], None]


class FakeConsumer:
    """The calls of `confluent_kafka.Consumer` that Pelton makes, and a script of what its group decides.

    `give`, `revoke`, `lose` and `fail` take effect in the next `consume`, or `after` so many calls of it.
    """

    def __init__(self, kafka: "FakeKafka", config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        self.paused: set[Partition] = set()
        self.calls, self.closed = 0, False
        self._kafka, self._group, self._member_id = kafka, config.get("group.id", ""), ""
        self._next: dict[Partition, int | None] = {}
        self._position: dict[Partition, int] = {}
        self._script: list[tuple[int, bool, Callable[[], None]]] = []
        self._errors: deque[Message] = deque()
        self._on_assign: OnRebalance | None = None
        self._on_revoke: OnRebalance | None = None
        self._on_lost: OnRebalance | None = None

    def give(self, *partitions: Partition, after: int = 0) -> None:
        """Let the group assign partitions to this member."""
        self._at(after, lambda: self._rebalance(self._on_assign, partitions, self._assign))

    def revoke(self, *partitions: Partition, after: int = 0, late: bool = False) -> None:
        """Let the group take partitions away, in good order; `late` in the call, after it has found its messages."""
        self._at(after, lambda: self._rebalance(self._on_revoke, partitions, self._unassign), late=late)

    def lose(self, *partitions: Partition, after: int = 0) -> None:
        """Let partitions be lost: the group has given them to somebody else already."""
        self._at(
            after, lambda: self._rebalance(self._on_lost or self._on_revoke, partitions, self._unassign, lost=True)
        )

    def fail(self, error: KafkaError, topic: str | None = None, partition: int = -1, *, after: int = 0) -> None:
        """Let an error come out of `consume` in the place of a message."""
        self._at(after, lambda: self._errors.append(Message(topic=topic, partition=partition, error=error)))

    def subscribe(
        self,
        topics: list[str],
        on_assign: OnRebalance | None = None,
        on_revoke: OnRebalance | None = None,
        on_lost: OnRebalance | None = None,
    ) -> None:
        """Join the group; unless Kafka is `manual`, this member gets every partition."""
        self._on_assign, self._on_revoke, self._on_lost = on_assign, on_revoke, on_lost
        if not self._kafka.manual:
            self.give(*((name, n) for name in topics for n in range(len(self._kafka.topics[name]))))

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Serve what the group has decided, then return what there is."""
        self._check_open()
        self.calls += 1
        self._follow_script(late=False)
        messages = self._take(num_messages)
        if not messages and timeout:
            with self._kafka.changed:
                self._kafka.changed.wait(self._kafka.patience_s)
            messages = self._take(num_messages)
        self._follow_script(late=True)
        return messages

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool = True) -> list[Any] | None:
        """Commit offsets; an asynchronous commit is answered in a later `consume`."""
        self._check_open()
        answers = self._kafka.answer_commit(self.consumer_group_metadata(), offsets)
        taken = [at for at, answer in zip(offsets, answers, strict=True) if answer.error is None]
        if taken:
            self._kafka.take_commit(self._group, taken)
        error = answers[0].error if answers and not taken else None
        if asynchronous:
            told = self.config.get("on_commit", lambda *_: None)
            self._at(0, lambda: told(error, answers))
            return None
        if error is not None:
            raise KafkaException(error)
        return answers

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:  # noqa: ARG002
        """Return the committed offsets and their metadata. Raises while a transaction that holds some is open."""
        self._kafka.check_stable(self._group, partitions)
        found = [(at, self._kafka.committed(self._group, (at.topic, at.partition))) for at in partitions]
        return [known or TopicPartition(at.topic, at.partition) for at, known in found]

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the offsets after the last messages given out; invalid where there was none."""
        places = [(at.topic, at.partition) for at in partitions]
        return [TopicPartition(*place, self._position.get(place, OFFSET_INVALID)) for place in places]

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:  # noqa: ARG002
        """Return the end of each partition, the only time that is known here."""
        return [TopicPartition(at.topic, at.partition, self._kafka.end(at.topic, at.partition)) for at in partitions]

    def get_watermark_offsets(self, at: TopicPartition, timeout: float = -1, cached: bool = False) -> Any:  # noqa: ARG002
        """Return the first offset of a partition and the one after its last."""
        return self._kafka.watermarks(at.topic, at.partition)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:  # noqa: ARG002
        """Return what is known of one topic or of all. Raises KafkaException when no broker answers."""
        return self._kafka.describe(topic)

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions owned now."""
        return [TopicPartition(*owned) for owned in self._next]

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Own these partitions and no others."""
        self._unassign(list(self._next))
        self.incremental_assign(partitions)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Own these partitions too, from the offsets that are given."""
        new = [at for at in partitions if (at.topic, at.partition) not in self._next]
        self._assign([(at.topic, at.partition) for at in new])
        self._next |= {(at.topic, at.partition): at.offset for at in new if at.offset >= 0}

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Give out nothing of these partitions for now, nor when they have left and come back, as librdkafka does."""
        self.paused |= {(at.topic, at.partition) for at in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Give out messages of these partitions again."""
        self.paused -= {(at.topic, at.partition) for at in partitions}

    def close(self) -> None:
        """Leave the group; what is owned is revoked first."""
        if self._member_id or self._next:
            self._rebalance(self._on_revoke, sorted(self._next), self._unassign)
            self._kafka.groups.follow(self._group, self._member_id, lost=True)
        self.closed = True

    def memberid(self) -> str:
        """Return the id that the group gave this member, empty while it has none."""
        return self._member_id

    def consumer_group_metadata(self) -> FakeGroupMetadata:
        """Return the metadata of this member as of now."""
        return self._kafka.groups.metadata(self._group, self._member_id)

    def _at(self, after: int, what: Callable[[], None], *, late: bool = False) -> None:
        self._script.append((self.calls + 1 + after, late, what))

    def _follow_script(self, *, late: bool) -> None:
        for step in [step for step in self._script if step[0] <= self.calls and step[1] == late]:
            self._script.remove(step)
            step[2]()

    def _rebalance(
        self, told: OnRebalance | None, partitions: Any, change: Callable[[Any], None], *, lost: bool = False
    ) -> None:
        self._member_id = self._kafka.groups.follow(self._group, self._member_id, lost=lost)
        if told is not None and (partitions or change == self._assign):
            told(self, [TopicPartition(*partition) for partition in partitions])
        change(partitions)

    def _assign(self, partitions: list[Partition]) -> None:
        self._next |= {partition: self._start(partition) for partition in set(partitions) - set(self._next)}

    def _start(self, partition: Partition) -> int | None:
        late = self.config.get("auto.offset.reset") == "latest"
        return self._kafka.start(self._group, partition, late=late)

    def _unassign(self, partitions: list[Partition]) -> None:
        for partition in partitions:
            self._next.pop(partition, None)
            self._position.pop(partition, None)

    def _take(self, n: int) -> list[Message]:
        messages = [self._errors.popleft() for _ in range(min(n, len(self._errors)))]
        for partition in sorted(set(self._next) - self.paused):
            start = self._next[partition]
            if start is None and (start := self._start(partition)) is None:
                continue
            found = self._kafka.fetch(*partition, start, n - len(messages))
            if found:
                messages += found
                self._next[partition] = self._position[partition] = (found[-1].offset() or 0) + 1
        return messages

    def _check_open(self) -> None:
        if self.closed:
            raise RuntimeError("Consumer closed")
