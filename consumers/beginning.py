"""Where a group begins that reads only what is new: at an end, which has to be remembered."""

import structlog
from confluent_kafka import TopicPartition

from pelton.consumers.ledger import Ledger
from pelton.errors import KafkaFailure

log = structlog.get_logger(__name__)

ANSWER_S = 3.0


def begin_at_the_end(ledger: Ledger, added: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions added, those without a committed offset at their end, which is committed.

    Uncommitted, it would be another end at the next start, and what came in between would be skipped. Called in the
    rebalance callback, before anything of them is read or committed. Where the broker does not answer, the client
    finds the end by itself, and nothing is remembered.
    """
    partitions = [(at.topic, at.partition) for at in added]
    try:
        known = ledger.offsets(partitions, ANSWER_S)
        ends = ledger.ends([at for at in partitions if at not in known], ANSWER_S)
        if ends:
            ledger.commit(ends, {}, wait=True)
    except KafkaFailure as error:
        log.warning("beginning_not_committed", partitions=partitions, reason=str(error))
        return added
    return [TopicPartition(at.topic, at.partition, ends.get((at.topic, at.partition), at.offset)) for at in added]
