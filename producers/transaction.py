"""Transactions on one producer, one after the other: begun with the first output, ended by a commit or an abort."""

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, Fenced, KafkaFailure, ProducerLost, TransactionAborted
from pelton.kafka_errors import client_error, failure
from pelton.producers.bounded_call import call_within
from pelton.verdicts import OF_THE_GROUP, OF_THE_ID, Verdict, judge, why

FENCE_MARGIN_S = 1.0
"""Half of the shortest time-out that the settings allow: a fence that comes earlier is another process's doing."""
STUCK_S = 1.0
"""How far a call may exceed its time limit before its producer is given up."""


class TransactionState(StrEnum):
    """Where a producer stands with its transactions."""

    NEW = "new"
    """The coordinator does not know the producer yet, or an earlier one of its id holds the place."""
    IDLE = "idle"
    OPEN = "open"
    ENDING = "ending"
    """The commit was asked for; whether it happened is known only once the broker has answered."""
    FAILED = "failed"
    """It has to be aborted before anything else."""
    DEAD = "dead"


_S = TransactionState
MOVES: Mapping[TransactionState, frozenset[TransactionState]] = MappingProxyType(
    {
        _S.NEW: frozenset({_S.IDLE, _S.DEAD}),
        _S.IDLE: frozenset({_S.OPEN, _S.DEAD}),
        _S.OPEN: frozenset({_S.ENDING, _S.FAILED, _S.DEAD}),
        _S.ENDING: frozenset({_S.IDLE, _S.DEAD}),
        _S.FAILED: frozenset({_S.IDLE, _S.DEAD}),
        _S.DEAD: frozenset(),
    }
)
"""The states that may follow each state."""


class Transaction:
    """Begins and ends the transactions of one producer, and says what each refusal means.

    Every call ends by its deadline: without one, `send_offsets_to_transaction` blocks for good while no broker is
    there. Not safe for two threads at once.
    """

    def __init__(self, producer: Producer, timeout_s: float) -> None:
        self._producer, self._timeout_s = producer, timeout_s
        self._state = TransactionState.NEW
        self._began_s = 0.0
        self.in_doubt = False
        """Whether the producer was lost between the question for a commit and a good answer."""

    @property
    def state(self) -> TransactionState:
        """Where the producer stands."""
        return self._state

    def start(self, deadline: Deadline) -> None:
        """Take the place of the transactional id: what an earlier producer of it left open is aborted.

        Raises BrokerUnavailable when no answer came in time, AccessDenied, Fenced or ProducerLost when the id cannot be
        had.
        """
        self._call(self._producer.init_transactions, deadline=deadline)
        self._move(TransactionState.IDLE)

    def begin(self) -> None:
        """Begin a transaction unless one is open; asks nobody."""
        if self._state is TransactionState.IDLE:
            self._call(self._producer.begin_transaction, deadline=None)
            self._began_s = time.monotonic()
            self._move(TransactionState.OPEN)

    def commit(self, positions: list[TopicPartition], member: Any, deadline: Deadline) -> None:
        """Commit what was produced together with the positions, in the name of the group member that read them.

        Raises BrokerUnavailable when no answer came in time (call again: it may be committed already),
        TransactionAborted when it has to be aborted, ProducerLost or Fenced when the producer is of no more use.
        """
        if self._state is TransactionState.OPEN:
            # Back to back without this flush, the call below takes 100 ms; with it, a few (measured).
            if self._call(self._producer.flush, deadline=deadline):
                raise BrokerUnavailable("scores are still on their way")
            self._call(self._send_offsets, positions, member, deadline=deadline)
            self._move(TransactionState.ENDING)
        self._call(self._producer.commit_transaction, deadline=deadline)
        self._move(TransactionState.IDLE)

    def _send_offsets(self, positions: list[TopicPartition], member: Any, timeout_s: float) -> None:
        # The client waits here, past any time-out, for a coordinator that it may have forgotten how to reach.
        send = self._producer.send_offsets_to_transaction
        call_within(timeout_s + STUCK_S, send, positions, member, timeout_s)

    def spoil(self) -> None:
        """Rule a commit out: what was produced since `begin` is to be aborted."""
        if self._state is TransactionState.OPEN:
            self._move(TransactionState.FAILED)

    def abort(self, deadline: Deadline) -> None:
        """Take back what was produced since `begin`, if anything was.

        Raises BrokerUnavailable when no answer came in time (call again), ProducerLost or Fenced.
        """
        self.spoil()
        if self._state is TransactionState.FAILED:
            self._call(self._producer.abort_transaction, deadline=deadline)
            self._move(TransactionState.IDLE)

    def _call(self, call: Callable[..., Any], *arguments: Any, deadline: Deadline | None) -> Any:
        answer: Any = None
        try:
            if deadline is None:
                return call(*arguments)
            for attempt in Retrying(
                retry=retry_if_exception(_worth_another_try),
                wait=wait_random_exponential(multiplier=0.02, max=0.5),
                stop=stop_after_delay(deadline.remaining_s()),
                reraise=True,
            ):
                with attempt:
                    answer = call(*arguments, max(0.001, deadline.remaining_s()))
        except (KafkaException, SystemError) as raised:
            raise self._refusal(self._told_by(raised)) from raised
        except TimeoutError as stuck:
            self._move(TransactionState.DEAD)
            raise ProducerLost("the client does not come back from a call", of_the_client=True) from stuck
        return answer

    def _told_by(self, raised: KafkaException | SystemError) -> KafkaError:
        """Return the client's error; where it was lost, a call that is wrong within a transaction asks for it."""
        told = client_error(raised)
        if told is None:
            try:
                self._producer.begin_transaction()
            except KafkaException as again:
                told = client_error(again)
        if told is None:
            raise raised
        return told

    def _refusal(self, error: KafkaError) -> KafkaFailure:
        verdict = judge(error)
        text, denied = f"{error.name()}: {why(error)}", isinstance(failure(error), AccessDenied)
        if verdict is Verdict.RETRY:
            return BrokerUnavailable(text)
        # Once a commit is asked for, no refusal says that an earlier try of it, whose answer was lost, did not happen.
        if verdict is Verdict.ABORT and self._state in (TransactionState.OPEN, TransactionState.FAILED):
            self._move(TransactionState.FAILED)
            if denied:
                return AccessDenied(text)
            return TransactionAborted(text, of_the_group=error.code() in OF_THE_GROUP)
        fenced = error.code() in OF_THE_ID and not self._timed_out()
        self._move(TransactionState.DEAD)
        if fenced:
            return Fenced(f"{error.name()}: another process took the transactional id")
        if denied:
            return AccessDenied(text)
        return ProducerLost(text, of_the_settings=error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT)

    def _timed_out(self) -> bool:
        """Tell whether the transaction is so old that the coordinator gave it up, with nobody else at play."""
        open_s = time.monotonic() - self._began_s
        return self._began_s > 0 and open_s > self._timeout_s - FENCE_MARGIN_S

    def _move(self, new: TransactionState) -> None:
        if new is not self._state:
            assert new in MOVES[self._state], f"a transaction cannot go from {self._state} to {new}"
            self.in_doubt = self._state is TransactionState.ENDING and new is TransactionState.DEAD
            self._state = new


def _worth_another_try(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and judge(error.args[0]) is Verdict.RETRY
