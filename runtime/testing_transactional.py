"""A transactional producer that writes to Kafka in memory."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from pelton.testing_coordinator import FENCED, Fate
from pelton.testing_producer import FATAL, FakeProducer, Outgoing

if TYPE_CHECKING:
    from pelton.testing_kafka import FakeKafka

# librdkafka's own codes begin with an underscore.
TIMED_OUT = KafkaError(KafkaError._TIMED_OUT, "Local: Timed out", retriable=True)  # noqa: SLF001
WRONG_STATE = KafkaError(KafkaError._STATE, "Local: Erroneous state")  # noqa: SLF001


class _State(StrEnum):
    NEW = "new"
    READY = "ready"
    OPEN = "open"
    ENDING = "ending"
    FAILED = "failed"


class FakeTransactionalProducer(FakeProducer):
    """The transactional calls of `confluent_kafka.Producer`, with the manners of the real one.

    A delivery that fails inside a transaction leaves nothing but an abort. A producer that was fenced hears of it in
    its next call, or in the `poll` or `flush` that would send something, and takes nothing more. While no broker
    answers, calls end by a time-out, at once.
    """

    def __init__(self, kafka: "FakeKafka", config: Mapping[str, Any]) -> None:
        super().__init__(kafka, config)
        self._coordinator = kafka.coordinator
        self._id = str(config["transactional.id"])
        self._timeout_s = int(config.get("transaction.timeout.ms", 60_000)) / 1000
        self._epoch = -1
        self._state = _State.NEW
        self._registered = False
        self._cause: KafkaError | None = None

    def init_transactions(self, timeout: float = -1) -> None:
        """Take the place of the transactional id."""
        self._call("init_transactions", timeout, self._init, _State.NEW)

    def begin_transaction(self) -> None:
        """Begin a transaction; asks no broker."""
        self._call("begin_transaction", None, self._begin, _State.READY)

    def send_offsets_to_transaction(self, positions: list[TopicPartition], member: Any, timeout: float = -1) -> None:
        """Make offsets part of the transaction, if the group takes them from this member."""
        self._call("send_offsets_to_transaction", timeout, lambda: self._send_offsets(positions, member), _State.OPEN)

    def commit_transaction(self, timeout: float = -1) -> None:
        """Send what waits, and commit; after a time-out the same call goes on with it."""
        self._call("commit_transaction", timeout, self._commit, _State.OPEN, _State.ENDING)

    def abort_transaction(self, timeout: float = -1) -> None:
        """Give up what waits, and abort."""
        self._call("abort_transaction", timeout, self._abort, _State.OPEN, _State.FAILED)

    def break_down(self, error: KafkaError) -> None:
        """Let a fatal error end this producer; its later calls name it."""
        self._cause = error
        super().break_down(error)

    def _call(self, name: str, timeout: float | None, effect: Callable[[], None], *allowed: _State) -> None:
        with self._kafka.changed:
            self._coordinator.calls.append((name, timeout))
            error = self._objection(allowed) or self._coordinator.failing(name)
            if error is None and timeout is not None and not self._kafka.reachable:
                error = TIMED_OUT
            if error is None:
                error = self._outcome(effect) or self._coordinator.losing(name)
            if error is not None:
                self._suffer(error, name)
                raise KafkaException(error)
            self._kafka.changed.notify_all()

    def _outcome(self, effect: Callable[[], None]) -> KafkaError | None:
        before = self._state
        try:
            effect()
        except KafkaException as error:
            self._state = before
            refused: KafkaError = error.args[0]
            return refused
        return None

    def _objection(self, allowed: tuple[_State, ...]) -> KafkaError | None:
        if self._fatal:
            return self._cause or FATAL
        if self._state in allowed:
            return None
        return self._cause if self._state is _State.FAILED else WRONG_STATE

    def _suffer(self, error: KafkaError, name: str) -> None:
        if error.fatal():
            self._fatal, self._cause = True, error
            self._give_up()
        elif error.txn_requires_abort():
            self._state, self._cause = _State.FAILED, error
        elif name == "commit_transaction" and error.retriable():
            self._state = _State.ENDING

    def _init(self) -> None:
        self._epoch = self._coordinator.init(self._id, self._timeout_s)
        self._state = _State.READY

    def _begin(self) -> None:
        self._registered = False
        self._state = _State.OPEN

    def _send_offsets(self, positions: list[TopicPartition], member: Any) -> None:
        self._coordinator.send_offsets(self._id, self._epoch, positions, member)
        self._registered = True

    def _commit(self) -> None:
        self._transmit()
        if self._fatal or self._state is _State.FAILED:
            raise KafkaException(self._cause)
        if any(self._queues.values()):
            raise KafkaException(TIMED_OUT)
        self._end(Fate.COMMITTED)

    def _abort(self) -> None:
        self._give_up()
        self._end(Fate.ABORTED)

    def _end(self, fate: Fate) -> None:
        if self._registered:
            self._coordinator.end(self._id, self._epoch, fate)
        self._state = _State.READY

    def _enqueue(self, sent: Outgoing) -> KafkaError | None:
        if not self._fatal and self._state is not _State.OPEN:
            return WRONG_STATE
        return super()._enqueue(sent)

    def _transmit(self) -> None:
        with self._kafka.changed:
            if any(self._queues.values()) and not self._coordinator.holds(self._id, self._epoch):
                self.break_down(FENCED)
            super()._transmit()

    def _refusals(self, batch: list[Outgoing]) -> list[KafkaError | None]:
        errors = super()._refusals(batch)
        if first := next(filter(None, errors), None):
            self._state = _State.FAILED
            self._cause = KafkaError(first.code(), first.str(), txn_requires_abort=True)
        return errors

    def _written(self, sent: Outgoing) -> Any:
        record = super()._written(sent)
        self._coordinator.add(self._id, record)
        self._registered = True
        return record
