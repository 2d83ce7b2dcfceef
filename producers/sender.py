"""How the outcomes of one block are sent: scores to the sink, rejections to the dead-letter topic, in order."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from confluent_kafka import KafkaError

from pelton.producers.channel import Channel
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.outputs import Outputs
from pelton.producers.tickets import Ticket
from pelton.schemas.records import Message, Records
from pelton.schemas.rejection import Rejection, Tombstone

OnReport = Callable[[Ticket, int, KafkaError | None, Any], None]


class Sender:
    """Sends tickets through the channel as it is now; each report comes back with its ticket and attempt."""

    def __init__(self, channel: Channel, outputs: Outputs, dead_letters: DeadLetters, on_report: OnReport) -> None:
        self._channel, self._outputs, self._dead_letters = channel, outputs, dead_letters
        self._on_report = on_report
        self.passes_tombstones = outputs.rules.tombstones == "pass"

    def ticket(self, records: Records, outcomes: Sequence[Any]) -> Ticket:
        """Return what follows a block to the broker and back."""
        tombstones = count_tombstones(outcomes)
        skipped = 0 if self.passes_tombstones else tombstones
        return Ticket(records, outcomes, len(records) - skipped, tombstones)

    def send(self, ticket: Ticket) -> None:
        """Send what became of each record of a block."""
        records, outcomes = ticket.records, ticket.outcomes
        if not is_mixed(outcomes):
            self._send_scores(ticket, records, outcomes)
            return
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome, Rejection):
                self.bury(ticket, records.messages[i], outcome)
        rows = [i for i, outcome in enumerate(outcomes) if not isinstance(outcome, Rejection)]
        if not self.passes_tombstones:
            self._send_rows(ticket, [i for i in rows if not isinstance(outcomes[i], Tombstone)])
            return
        # What came before a tombstone under the same key must stand before it in the sink too.
        for is_tombstone, run in groupby(rows, lambda i: isinstance(outcomes[i], Tombstone)):
            (self._send_tombstones if is_tombstone else self._send_rows)(ticket, list(run))

    def bury(self, ticket: Ticket, message: Message, rejection: Rejection) -> None:
        """Send a record to the dead-letter topic."""
        ticket.awaited += 1
        ticket.n_bytes += len(message.value() or b"")
        ticket.refused[rejection.code] = ticket.refused.get(rejection.code, 0) + 1
        self._dead_letters.produce(self._channel, message, rejection, self._report(ticket))

    def _send_rows(self, ticket: Ticket, rows: list[int]) -> None:
        self._send_scores(ticket, ticket.records.select(rows), [ticket.outcomes[i] for i in rows])

    def _send_scores(self, ticket: Ticket, records: Records, scores: Sequence[Any]) -> None:
        values, keys = self._outputs.encode(records, scores)
        if is_mixed(values):
            for message, value in zip(records.messages, values, strict=True):
                if isinstance(value, Rejection):
                    self.bury(ticket, message, value)
            rows = [i for i, value in enumerate(values) if not isinstance(value, Rejection)]
            records, values, keys = records.select(rows), [values[i] for i in rows], [keys[i] for i in rows]
        if values:
            ticket.n_bytes += sum(map(len, values))
            ticket.awaited += len(values) if self._channel.reports_each else 1
            self._outputs.produce(self._channel, records, values, keys, self._report(ticket))

    def _send_tombstones(self, ticket: Ticket, rows: list[int]) -> None:
        for row in rows:
            # A marker without a key marks nothing, and a compacted topic refuses it.
            if ticket.records.messages[row].key() is None:
                continue
            ticket.awaited += 1
            self._outputs.produce_tombstone(self._channel, ticket.records, row, self._report(ticket))

    def _report(self, ticket: Ticket) -> Callable[[KafkaError | None, Any], None]:
        return partial(self._on_report, ticket, ticket.attempt)


def is_mixed(outcomes: Sequence[Any]) -> bool:
    """Tell whether there is anything but scores among outcomes."""
    return not set(map(type, outcomes)).isdisjoint((Rejection, Tombstone))


def count_tombstones(outcomes: Sequence[Any]) -> int:
    """Return how many of the outcomes are tombstones."""
    return sum(isinstance(outcome, Tombstone) for outcome in outcomes) if is_mixed(outcomes) else 0
