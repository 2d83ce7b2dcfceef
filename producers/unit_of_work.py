"""The blocks of one transaction: sent, committed with their offsets, or taken back and sent again."""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import structlog
from confluent_kafka import KafkaError

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, DeliveryFailed, ProducerLost, TransactionAborted
from pelton.kafka_errors import RECORD_FAULTS, failure
from pelton.producers.channel import Channel, Manner
from pelton.producers.faults import culprit, refusal
from pelton.producers.membership import Membership
from pelton.producers.sender import Sender
from pelton.producers.tickets import Ticket
from pelton.producers.transaction import Transaction, TransactionState
from pelton.producers.tries import Tries
from pelton.verdicts import OF_THE_PRODUCER

log = structlog.get_logger(__name__)

_NOT_TO_WAIT = (TransactionState.ENDING, TransactionState.DEAD)
MOST_REFUSALS = 3
"""How often in a row all may be refused, with no record known to be at fault, before the worker ends."""


class UnitOfWork:
    """Keeps blocks until they are committed: an abort costs a second sending. For whoever holds the sink's lock."""

    def __init__(
        self, channel: Channel, sender: Sender, membership: Membership, *, topic: str, timeout_s: float, tries: Tries
    ) -> None:
        self._channel, self._sender, self._membership = channel, sender, membership
        self._topic, self._timeout_s, self._tries = topic, timeout_s, tries
        self._transaction = Transaction(channel.producer, timeout_s)
        self._tickets: deque[Ticket] = deque()
        self._n_sent = self._named = self._n_refusals = 0
        self._spoilt: KafkaError | None = None
        self._refused: Any = None
        self._in_doubt, self._done = list[Ticket](), list[Ticket]()

    def __iter__(self) -> Iterator[Ticket]:
        return iter(tuple(self._tickets))

    def start(self, deadline: Deadline) -> None:
        """Take the place of the transactional id, if that is not done yet; see `Transaction.start`."""
        if self._transaction.state is TransactionState.NEW:
            try:
                self._transaction.start(deadline)
            except AccessDenied:  # of which the client does not recover
                self._replace(Manner.TRANSACTED)
                raise

    def add(self, ticket: Ticket) -> None:
        """Take a block on, and send it unless others have to go first, or the producer is lost: see `commit`."""
        self._tickets.append(ticket)
        if self._n_sent == len(self._tickets) - 1:
            with suppress(BrokerUnavailable, ProducerLost):
                self._send_rest()

    def commit(self, deadline: Deadline) -> list[Ticket]:
        """Try once to commit all that was sent; return the blocks that are committed, none when it has to wait.

        Raises Fenced, AccessDenied, or DeliveryFailed when messages are refused for a reason that no record is to
        blame for.
        """
        try:
            if self._transaction.state is not TransactionState.ENDING:
                self._make_ready(deadline)
                self._used: Any = self._member()
            if self._transaction.state in _NOT_TO_WAIT or (self._n_sent and self._used is not None):
                self._commit(deadline)
        except BrokerUnavailable as error:
            self._tries.failed(str(error))
        except TransactionAborted as error:
            self._retreat(error)
        except ProducerLost as error:
            self._tries.failed(str(error))
            log.warning("producer_replaced", reason=str(error))
            self._tries.ended("lost")
            if not error.of_the_client:
                self._count_refusal(error)
            self._replace(Manner.TRANSACTED)
        done, self._done = self._done, []
        return done

    def abort(self, deadline: Deadline) -> None:
        """Take back what is open; see `Transaction.abort`."""
        if self._transaction.state in (TransactionState.OPEN, TransactionState.FAILED):
            self._transaction.abort(deadline)
            self._tries.ended("aborted")

    @property
    def waits_for_group(self) -> bool:
        """Whether nothing can be committed before the group has told this member where it stands."""
        return self._member() is None

    def _member(self) -> Any:
        member = self._membership.member()
        return None if member is self._refused else member

    def report(self, ticket: Ticket, attempt: int, error: KafkaError | None, message: Any) -> None:
        """Take a delivery report: one that is bad spoils the transaction, and may name the record at fault."""
        if error is None or attempt != ticket.attempt:
            return
        self._spoilt = self._spoilt or error
        ours = error.code() in RECORD_FAULTS and message.topic() == self._topic
        if ours and self._channel.manner is Manner.SINGLY:
            ticket.replace(culprit(ticket, message), refusal(error, message))
            self._named += 1

    def _make_ready(self, deadline: Deadline) -> None:
        """Bring the producer to where it can commit, let go of what is not ours, and send what is not sent."""
        self.start(deadline)
        if self._in_doubt:
            self._resolve(deadline)
        if gone := [ticket for ticket in self._tickets if not self._membership.owns(ticket.records)]:
            self._take_back()
            self._leave(gone)
            log.info("uncommitted_dropped", records=sum(len(ticket.records) for ticket in gone))
        if self._transaction.state is TransactionState.FAILED:
            self.abort(deadline)
        self._send_rest()

    def _commit(self, deadline: Deadline) -> None:
        if self._spoilt is not None:
            raise TransactionAborted(self._spoilt.str())
        sent = list(self._tickets)[: self._n_sent]
        self._transaction.begin()
        positions = self._membership.positions({ticket.origin: ticket.next_offset for ticket in sent})
        self._transaction.commit(positions, self._used, deadline)
        self._tries.ended("committed")
        self._n_refusals = self._named = 0
        self._done += sent
        self._leave(sent)
        if self._channel.manner is Manner.SINGLY and not self._tickets:
            self._replace(Manner.TRANSACTED)
        self._send_rest()

    def _retreat(self, refused: TransactionAborted) -> None:
        """Take everything back after a refusal, and choose how it is sent again."""
        cause, code = self._spoilt and failure(self._spoilt), self._spoilt and self._spoilt.code()
        if isinstance(cause, AccessDenied):
            raise cause
        self._tries.failed(str(cause or refused))
        log.warning("transaction_aborted", reason=str(refused), cause=cause and str(cause), named=self._named)
        self._take_back()
        if refused.of_the_group:
            self._refused = self._used
        elif self._named:
            self._named = 0
        elif not isinstance(cause, BrokerUnavailable) and code not in OF_THE_PRODUCER:  # there the abort says why
            self._count_refusal(refused)
            self._replace(Manner.SINGLY)

    def _count_refusal(self, error: Exception) -> None:
        self._n_refusals += 1
        if self._n_refusals > MOST_REFUSALS:
            raise DeliveryFailed(str(error))

    def _resolve(self, deadline: Deadline) -> None:
        """Ask the broker whether the commit happened whose answer a lost producer never had."""
        offsets = self._membership.committed({ticket.origin for ticket in self._in_doubt}, deadline.remaining_s())
        happened = [ticket for ticket in self._in_doubt if ticket.next_offset <= offsets.get(ticket.origin, 0)]
        log.info("commit_resolved", happened=bool(happened))
        self._in_doubt = []
        self._done += happened
        self._leave(happened)

    def _send_rest(self) -> None:
        if self._transaction.state not in (TransactionState.IDLE, TransactionState.OPEN) or self.waits_for_group:
            return
        for ticket in list(self._tickets)[self._n_sent :]:
            if ticket.n_outputs:  # a transaction without outputs is begun at its commit only
                self._transaction.begin()
            self._sender.send(ticket)
            self._n_sent += 1

    def _take_back(self) -> None:
        """Count nothing as sent; reports of what was sent until now are of no interest any more."""
        for ticket in self._tickets:
            ticket.restart()
        self._n_sent, self._spoilt = 0, None
        self._transaction.spoil()

    def _leave(self, tickets: list[Ticket]) -> None:
        leaving = set(tickets)
        self._n_sent -= sum(ticket in leaving for ticket in list(self._tickets)[: self._n_sent])
        self._tickets = deque(ticket for ticket in self._tickets if ticket not in leaving)

    def _replace(self, manner: Manner) -> None:
        """Go on with a new producer of the same transactional id."""
        if self._transaction.in_doubt:
            self._in_doubt = list(self._tickets)[: self._n_sent]
        self._take_back()
        self._channel.open(manner)
        self._transaction = Transaction(self._channel.producer, self._timeout_s)
