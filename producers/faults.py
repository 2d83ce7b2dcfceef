"""Which record a broker refused, and what is said of it."""

from typing import Any

import msgspec
from confluent_kafka import KafkaError

from pelton.kafka_errors import SIZE_FAULTS
from pelton.producers.tickets import Ticket
from pelton.schemas.codes import Code
from pelton.schemas.records import Message
from pelton.schemas.rejection import Rejection


def culprit(ticket: Ticket, refused: Any) -> Message:
    """Return the polled message whose score, or passed tombstone, is the refused message."""
    value = refused.value()
    if value is None:
        return ticket.tombstone_of(refused.key())
    offset: int = msgspec.json.decode(value)["source"]["offset"]
    return ticket.message_of(offset)


def refusal(error: KafkaError, refused: Any) -> Rejection:
    """Return why the record of a refused message becomes a dead letter."""
    code = Code.TOO_LARGE if error.code() in SIZE_FAULTS else Code.INVALID
    reason = f"the sink refused the score of {len(refused.value() or b'')} bytes: {error.str()}"
    return Rejection(code, reason, "produce", error.name())
