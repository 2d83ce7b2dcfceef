"""Scores and dead letters out, at least once, each of them known to be safe before its offset is committed."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.deadline import Deadline
from pelton.errors import PeltonError
from pelton.kafka_errors import FATAL, RECORD_FAULTS, ErrorLog, client_error, failure
from pelton.producers.channel import Channel, Manner
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.faults import culprit, refusal
from pelton.producers.outputs import Outputs
from pelton.producers.sender import Sender
from pelton.producers.tickets import Settled, Ticket, in_pieces
from pelton.producers.tries import Tries
from pelton.producers.window import SLICE_S, Window, WindowLimits
from pelton.schemas.records import Records

log = structlog.get_logger(__name__)


class Sink:
    """Writes what became of each record, and tells when all of a block is safe at the broker.

    `write` belongs to the scoring thread, `settled` to the poll thread; delivery reports are served by whichever
    waits. When one says no, everything on its way is sent again with a report for each message: a record the broker
    will not take becomes a dead letter, alone. Any other refusal then ends the worker with nothing committed.
    """

    transactional = False

    def __init__(
        self,
        config: dict[str, Any],
        outputs: Outputs,
        dead_letters: DeadLetters,
        *,
        limits: WindowLimits,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        self._topic = outputs.rules.topic
        self._topics = (self._topic, dead_letters.topic)
        # By key, one call spreads over partitions, and a report answers for its own partition only.
        self._usual = Manner.EACH if outputs.rules.partition == "key" else Manner.FAST
        self._channel = Channel(config, self._usual, make_producer, self._on_error)
        self._sender = Sender(self._channel, outputs, dead_letters, self._on_report)
        self._serving = threading.RLock()
        self._settled: deque[Settled] = deque()
        self._waiting: dict[Ticket, float] = {}
        self._window = Window(limits, self._serve)
        self.tries = Tries()
        self._doubt: KafkaError | None = None
        self._failure: PeltonError | None = None
        self._errors = ErrorLog("producer")

    def write(self, records: Records, outcomes: Sequence[Any]) -> None:
        """Hand over what became of each record of a block: a score, a `Rejection` or `TOMBSTONE`.

        Waits while too much is on its way already. Raises the error of an earlier delivery that failed for good.
        """
        for head, own in in_pieces(records, outcomes, self._window.max_records):
            self._write(head, own)

    def _write(self, records: Records, outcomes: Sequence[Any]) -> None:
        ticket = self._sender.ticket(records, outcomes)
        self._window.enter(ticket.n_outputs, self._check)
        self._leave_doubt()
        with self._serving:
            self._waiting[ticket] = time.monotonic()
            self._sender.send(ticket)
            if ticket in self._waiting:
                ticket.carried_bytes = ticket.n_bytes
                self._window.carry(ticket.carried_bytes)
            self._settle_if_done(ticket)

    def settled(self) -> list[Settled]:
        """Serve delivery reports and return the blocks that became safe since the last call.

        Raises the error of a delivery that failed for good.
        """
        self._serve(0)
        self._check()
        return [self._settled.popleft() for _ in range(len(self._settled))]

    def flush(self, deadline: Deadline) -> bool:
        """Wait for every delivery report, at most until the deadline; return whether all came."""
        while self._waiting and not deadline.expired and self._failure is None:
            self._serve(min(0.02, deadline.remaining_s()))
        return not self._waiting

    def close(self) -> None:
        """Give up what is still on its way: its records are not committed and will be read again."""
        with self._serving:
            self._waiting.clear()
            self._channel.discard()

    @property
    def in_flight(self) -> int:
        """Outputs handed over and not yet known to be safe."""
        return self._window.in_flight

    def waiting_s(self) -> float:
        """Return the age of the oldest block that lacks a delivery report, in seconds, or 0; from any thread."""
        started_s = min(list(self._waiting.values()), default=None)
        return 0.0 if started_s is None else time.monotonic() - started_s

    def reach(self, timeout_s: float) -> None:
        """Ask the broker for the topics written to; from any thread. Raises KafkaFailure unless it has them all."""
        self._channel.reach(self._topics, timeout_s)

    def _leave_doubt(self) -> None:
        """Wait until what was doubted is safe, then go back to the usual manner: sending singly is slow."""
        while self._channel.manner is not self._usual:
            with self._serving:
                if not self._waiting:
                    self._channel.open(self._usual)
                    return
            self._check()
            self._serve(SLICE_S)

    def _serve(self, timeout_s: float) -> None:
        with self._serving:
            try:
                self._channel.producer.poll(timeout_s)
            except (KafkaException, SystemError) as raised:
                # A fatal error comes by the callback and by this way.
                self._on_error(client_error(raised) or KafkaError(FATAL, str(raised), fatal=True))
            if self._doubt is not None:
                self._send_again(self._doubt)

    def _send_again(self, doubt: KafkaError) -> None:
        log.warning("deliveries_doubted", reason=doubt.str(), error=doubt.name(), blocks=len(self._waiting))
        self._doubt = None
        self.tries.failed(doubt.str())
        for ticket in self._waiting:
            ticket.restart()
        self._channel.open(Manner.SINGLY)
        for ticket in list(self._waiting):
            self._sender.send(ticket)
            self._settle_if_done(ticket)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _settle_if_done(self, ticket: Ticket) -> None:
        if not ticket.awaited and self._waiting.pop(ticket, None) is not None:
            self._window.leave(ticket.n_outputs, ticket.carried_bytes)
            self._settled.append(Settled(ticket.records, ticket.refused, ticket.tombstones))
            if not self._waiting:
                self.tries.succeeded()

    def _on_report(self, ticket: Ticket, attempt: int, error: KafkaError | None, message: Any) -> None:
        """Take one delivery report; the callback of scores and of dead letters."""
        # In doubt all that waits is sent again: that the last message arrived says nothing of one refused before it.
        if attempt != ticket.attempt or ticket not in self._waiting or self._doubt is not None:
            return
        if error is None:
            ticket.awaited -= 1
            self._settle_if_done(ticket)
        elif self._channel.manner is not Manner.SINGLY:
            self._doubt = self._doubt or error
        elif error.code() in RECORD_FAULTS and message.topic() == self._topic:
            self._set_aside(ticket, error, message)
            ticket.awaited -= 1
        else:
            self._fail(error)

    def _set_aside(self, ticket: Ticket, error: KafkaError, refused: Any) -> None:
        """Make a dead letter of the record whose score, or passed tombstone, the broker will never take."""
        self._sender.bury(ticket, culprit(ticket, refused), refusal(error, refused))

    def _on_error(self, error: KafkaError) -> None:
        self._errors.warn(error)
        if error.fatal() and self._channel.manner is not Manner.SINGLY:
            self._doubt = self._doubt or error
        elif error.fatal():
            self._fail(error)

    def _fail(self, error: KafkaError) -> None:
        if self._failure is None:
            self._failure = failure(error)
