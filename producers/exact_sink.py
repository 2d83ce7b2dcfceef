"""Scores and dead letters out, exactly once: in one transaction with the offsets of the records they came from."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from confluent_kafka import Producer

from pelton.deadline import Deadline
from pelton.errors import KafkaFailure, PeltonError
from pelton.kafka_errors import ErrorLog
from pelton.producers.channel import Channel, Manner
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.membership import Membership
from pelton.producers.outputs import Outputs
from pelton.producers.sender import Sender
from pelton.producers.tickets import Settled, Ticket, in_pieces
from pelton.producers.tries import Tries
from pelton.producers.unit_of_work import UnitOfWork
from pelton.producers.window import SLICE_S, Window, WindowLimits
from pelton.schemas.records import Records

log = structlog.get_logger(__name__)

CLOSE_S = 2.0
AGAIN_S = 0.01
REST_S = 0.004
"""A transaction begun sooner after the last one is refused (CONCURRENT_TRANSACTIONS), and the client waits 20 ms."""


class ExactSink:
    """Writes what became of each record, and commits it together with the offsets.

    `write` belongs to the scoring thread; whoever commits (the committer, or a revoke callback) holds the lock from
    the look at who owns the records to the broker's answer. What is written meanwhile waits in an inbox.
    """

    transactional = True

    def __init__(
        self,
        config: dict[str, Any],
        outputs: Outputs,
        dead_letters: DeadLetters,
        membership: Membership,
        *,
        limits: WindowLimits,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
        ended: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._topics, self.tries = (outputs.rules.topic, dead_letters.topic), Tries(ended)
        self._channel = Channel(config, Manner.TRANSACTED, make_producer, ErrorLog("producer").warn)
        self._sender = Sender(self._channel, outputs, dead_letters, self._on_report)
        self._timeout_s = int(config["transaction.timeout.ms"]) / 1000
        work = (self._channel, self._sender, membership)
        self._work = UnitOfWork(*work, topic=self._topics[0], timeout_s=self._timeout_s, tries=self.tries)
        self._lock = threading.RLock()
        self._room = threading.Condition()
        self._window = Window(limits, self._wait_for_room)
        self._inbox, self._opens_s = deque[tuple[Ticket, float]](), 0.0
        self._waiting = dict[Ticket, float]()
        self._settled = deque[Settled]()
        self._failure: PeltonError | None = None
        self.closed = False
        """Whether nothing is committed any more."""
        self.hurry = threading.Event()
        """Set when somebody waits for a commit."""
        self.written = threading.Event()
        """Set while there is something to commit."""

    def start(self, deadline: Deadline) -> None:
        """Take the predecessor's place; raises BrokerUnavailable without an answer in time, Fenced or ProducerLost."""
        with self._lock:
            self._work.start(deadline)

    def write(self, records: Records, outcomes: Sequence[Any]) -> None:
        """Hand over what became of each record of a block, waiting while too much is uncommitted already.

        Raises the error that ended the commits for good.
        """
        for head, own in in_pieces(records, outcomes, self._window.max_records):
            ticket = self._sender.ticket(head, own)
            self._window.enter(ticket.n_outputs, self._check)
            self._inbox.append((ticket, time.monotonic()))
            self.written.set()
            self._take_in()

    def settled(self) -> list[Settled]:
        """Return the blocks that were committed since the last call; then raise what ended the commits for good."""
        if not self._settled:
            self._check()
        return [self._settled.popleft() for _ in range(len(self._settled))]

    def commit(self, deadline: Deadline) -> bool:
        """Try to commit what was written, at most until the deadline; return whether all of that is committed now.

        What could not be committed is kept for the next call. Raises the error that ends the commits for good.
        """
        if not self._lock.acquire(timeout=deadline.remaining_s()):
            return False
        try:
            self._check()
            if not self.closed:
                self._commit(deadline)
            return not self._waiting
        except PeltonError as error:
            self.fail(error)
            raise
        finally:
            self._lock.release()

    def flush(self, deadline: Deadline) -> bool:
        """Commit until all is committed; return False once the deadline has passed or the group has moved on."""
        while not self.commit(deadline) or self._inbox:
            if deadline.expired or self.closed or self._work.waits_for_group:
                return False
            self._wait_for_room(AGAIN_S)
        return True

    def fail(self, error: PeltonError) -> None:
        """End the commits for good: whoever writes or asks hears of it."""
        self._failure = self._failure or error

    def close(self) -> None:
        """Abort what is open: its records are not committed and will be read again."""
        self.closed = True
        if self._lock.acquire(timeout=CLOSE_S):
            try:
                self._work.abort(Deadline.after(CLOSE_S))
            except KafkaFailure as error:
                log.warning("transaction_left_open", reason=str(error), ends_after_s=self._timeout_s)
            finally:
                self._inbox.clear()
                self._waiting.clear()
                self._channel.discard()
                self._lock.release()

    @property
    def in_flight(self) -> int:
        """Outputs handed over and not committed yet."""
        return self._window.in_flight

    def waiting_s(self) -> float:
        """Return the age of the oldest block that is not committed, in seconds, or 0; from any thread."""
        written_s = [*self._waiting.values(), *(at_s for _, at_s in list(self._inbox))]
        return time.monotonic() - written_s[0] if written_s else 0.0

    def reach(self, timeout_s: float) -> None:
        """Ask the broker for the topics written to; from any thread. Raises KafkaFailure unless it has them all."""
        self._channel.reach(self._topics, timeout_s)

    def _commit(self, deadline: Deadline) -> None:
        self.hurry.clear()
        self._empty_inbox()
        self._settle(self._work.commit(deadline))
        self._opens_s = time.monotonic() + REST_S
        if not self._waiting:
            self.written.clear()
            if self._inbox:  # written while this looked
                self.written.set()

    def _take_in(self) -> None:
        """Send what was handed over; what comes during a commit or right after it is sent with the next, or by that."""
        if not self.closed and time.monotonic() >= self._opens_s and self._lock.acquire(blocking=False):
            try:
                self._empty_inbox()
            finally:
                self._lock.release()

    def _empty_inbox(self) -> None:
        while self._inbox:
            ticket, written_s = self._inbox.popleft()
            self._waiting[ticket] = written_s
            self._work.add(ticket)
            ticket.carried_bytes = ticket.n_bytes
            self._window.carry(ticket.carried_bytes)

    def _settle(self, done: list[Ticket]) -> None:
        for ticket in self._waiting.keys() - set(self._work):
            del self._waiting[ticket]
            self._window.leave(ticket.n_outputs, ticket.carried_bytes)
        self._settled += [Settled(ticket.records, ticket.refused, ticket.tombstones) for ticket in done]
        with self._room:
            self._room.notify_all()

    def _wait_for_room(self, timeout_s: float = SLICE_S) -> None:
        with self._room:
            self.hurry.set()
            self._room.wait(timeout_s)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _on_report(self, *report: Any) -> None:
        self._work.report(*report)
