"""Tickets: what belongs to this sending, and what to an earlier one."""

from collections.abc import Callable
from typing import Any

from pelton.producers.tickets import Ticket
from pelton.schemas.codes import Code

MAKE = Callable[..., Any]


def test_a_new_attempt_forgets_what_was_sent_but_not_what_is_to_be_sent(records: MAKE) -> None:
    block = records([3, 8])
    ticket = Ticket(block, [0.5, 0.25], 2, 0)
    ticket.awaited, ticket.refused = 2, {Code.TOO_LARGE: 1}
    ticket.restart()
    assert (ticket.attempt, ticket.awaited, ticket.refused) == (2, 0, {})
    assert (ticket.records, ticket.outcomes, ticket.n_outputs) == (block, [0.5, 0.25], 2)


def test_a_message_is_found_by_its_offset_over_gaps(records: MAKE) -> None:
    block = records([3, 8, 21])
    assert Ticket(block, [], 3, 0).message_of(8) is block.messages[1]
