"""Transactions in memory: who holds a transactional id, and what readers may see of what it wrote."""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

if TYPE_CHECKING:
    from pelton.testing_kafka import FakeKafka

Partition = tuple[str, int]

FENCED = KafkaError(
    KafkaError._FENCED,  # noqa: SLF001 - librdkafka's own codes begin so
    "Local: This instance has been fenced by a newer instance",
    fatal=True,
)
NOT_OPEN = KafkaError(KafkaError.INVALID_TXN_STATE, "Broker: Producer attempted an invalid transition", fatal=True)


class Fate(StrEnum):
    """What has become of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True)
class _Transaction:
    began_s: float
    fate: Fate = Fate.OPEN
    offsets: dict[tuple[str, str, int], TopicPartition] = field(default_factory=dict)


@dataclass(slots=True)
class _Holder:
    epoch: int = -1
    timeout_s: float = 60.0
    transaction: _Transaction | None = None


class FakeCoordinator:
    """Transactional ids with their epochs and transactions, and the errors that a test asks for.

    A newer producer of an id fences the older one and aborts what that left open. A transaction older than its
    time-out is aborted on `clock`, and its producer is fenced. `fail` and `lose` act on the calls of a transactional
    producer, by their names.
    """

    def __init__(self, kafka: "FakeKafka") -> None:
        self.clock = time.monotonic
        self.calls: list[tuple[str, float | None]] = []
        """Every transactional call that was made, with its time-out, None where it can have none."""
        self._kafka = kafka
        self._holders: defaultdict[str, _Holder] = defaultdict(_Holder)
        self._of_record: dict[tuple[str, int, int], _Transaction] = {}
        self._failing: defaultdict[str, deque[KafkaError]] = defaultdict(deque)
        self._losing: defaultdict[str, deque[KafkaError]] = defaultdict(deque)

    def fail(self, call: str, *errors: KafkaError) -> None:
        """Let the next calls of this name do nothing but raise these errors, one each."""
        self._failing[call] += errors

    def lose(self, call: str, *errors: KafkaError) -> None:
        """Let the next calls of this name do their work and still raise these errors, one each."""
        self._losing[call] += errors

    def failing(self, call: str) -> KafkaError | None:
        """Take the error that was asked for instead of this call."""
        return self._failing[call].popleft() if self._failing[call] else None

    def losing(self, call: str) -> KafkaError | None:
        """Take the error that was asked for in the place of this call's answer."""
        return self._losing[call].popleft() if self._losing[call] else None

    def init(self, name: str, timeout_s: float) -> int:
        """Give a transactional id to a new producer and return its epoch; what was open is aborted."""
        self._expire()
        holder = self._holders[name]
        self._end(holder, Fate.ABORTED)
        holder.epoch, holder.timeout_s, holder.transaction = holder.epoch + 1, timeout_s, None
        return holder.epoch

    def holds(self, name: str, epoch: int) -> bool:
        """Tell whether a producer still holds its transactional id."""
        self._expire()
        return self._holders[name].epoch == epoch

    def add(self, name: str, record: Message) -> None:
        """Note a record as part of the transaction that its producer has open."""
        place = record.topic() or "", record.partition() or 0, record.offset() or 0
        self._of_record[place] = self._opened(self._holders[name])

    def send_offsets(self, name: str, epoch: int, positions: Iterable[TopicPartition], member: Any) -> None:
        """Add offsets to the open transaction. Raises KafkaException when fenced, or when the group refuses."""
        self._check(name, epoch)
        if refused := self._kafka.groups.refusal(member):
            raise KafkaException(refused)
        offsets = self._opened(self._holders[name]).offsets
        offsets |= {(member.group, at.topic, at.partition): at for at in positions}

    def end(self, name: str, epoch: int, fate: Fate) -> None:
        """Commit or abort the open transaction; to ask once more for what has happened already does no harm."""
        self._check(name, epoch)
        ended = self._end(self._holders[name], fate)
        if ended is not fate:
            raise KafkaException(NOT_OPEN)

    def pending(self, group: str, partition: Partition) -> bool:
        """Tell whether an open transaction holds offsets of a partition."""
        self._expire()
        open_now = (h.transaction for h in self._holders.values() if h.transaction and h.transaction.fate is Fate.OPEN)
        return any((group, *partition) in transaction.offsets for transaction in open_now)

    def fate(self, record: Message) -> Fate:
        """Return what has become of a record; one that was written outside of transactions is committed."""
        place = record.topic() or "", record.partition() or 0, record.offset() or 0
        transaction = self._of_record.get(place)
        return transaction.fate if transaction else Fate.COMMITTED

    def stable(self, records: list[Message], first: int, n: int) -> list[Message]:
        """Return what a read_committed consumer gets: nothing aborted, nothing behind the first that is open."""
        self._expire()
        found = records[first : first + n] if not self._of_record else self._stable(islice(records, first, None))
        return list(islice(found, n))

    def _stable(self, records: Iterable[Message]) -> Iterator[Message]:
        for record in records:
            fate = self.fate(record)
            if fate is Fate.OPEN:
                return
            if fate is Fate.COMMITTED:
                yield record

    def _opened(self, holder: _Holder) -> _Transaction:
        if holder.transaction is None or holder.transaction.fate is not Fate.OPEN:
            holder.transaction = _Transaction(self.clock())
        return holder.transaction

    def _check(self, name: str, epoch: int) -> None:
        if not self.holds(name, epoch):
            raise KafkaException(FENCED)

    def _end(self, holder: _Holder, fate: Fate) -> Fate | None:
        transaction = holder.transaction
        if transaction is None:
            return None
        if transaction.fate is Fate.OPEN:
            transaction.fate = fate
            if fate is Fate.COMMITTED:
                self._take(transaction)
        return transaction.fate

    def _take(self, transaction: _Transaction) -> None:
        by_group: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        for (group, _, _), at in transaction.offsets.items():
            by_group[group].append(at)
        for group, positions in by_group.items():
            self._kafka.take_commit(group, positions)

    def _expire(self) -> None:
        for holder in self._holders.values():
            transaction = holder.transaction
            if transaction is None or transaction.fate is not Fate.OPEN:
                continue
            if self.clock() - transaction.began_s > holder.timeout_s:
                transaction.fate = Fate.ABORTED
                holder.epoch += 1
