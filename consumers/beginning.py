"""Where partitions begin that a group has no offset of, if it reads only what is new: that has to be remembered."""

import math
from typing import Any

import structlog
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from pelton.consumers.ledger import Ledger
from pelton.errors import KafkaFailure

log = structlog.get_logger(__name__)

ANSWER_S = 3.0


class Beginning:
    """Takes partitions on, and with `reset: latest` chooses and commits where those begin that have no offset yet.

    What is there when the member joins begins at its end. Uncommitted, that would be another end at the next start,
    and what came in between would be skipped. What is added later begins at its first record: all of it is new.
    """

    def __init__(self, ledger: Ledger, config: dict[str, Any], topics: list[str]) -> None:
        self._ledger, self._topics = ledger, topics
        self._only_new = config.get("auto.offset.reset") == "latest"
        self._cooperative = "cooperative" in config.get("partition.assignment.strategy", "") or (
            config.get("group.protocol") == "consumer"
        )
        self._n_old: dict[str, int] | None = None

    def assign(self, consumer: Consumer, added: list[TopicPartition]) -> None:
        """Give the consumer partitions to read; called in the rebalance callback."""
        placed = self._place(added) if self._only_new else added
        if self._cooperative:
            consumer.incremental_assign(placed)
        else:
            consumer.assign(placed)

    def _place(self, added: list[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions with their offsets; where no broker answers, the client finds the end by itself."""
        partitions = [(at.topic, at.partition) for at in added]
        try:
            if self._n_old is None:
                self._n_old = self._ledger.counts(self._topics, ANSWER_S)
            known = self._ledger.offsets(partitions, ANSWER_S)
            fresh = [at for at in partitions if at not in known]
            new = {at: 0 for at in fresh if at[1] >= self._n_old.get(at[0], math.inf)}
            ends = self._ledger.ends([at for at in fresh if at not in new], ANSWER_S)
            if fresh:
                self._ledger.commit(ends | new, {}, wait=True)
        except KafkaFailure as error:
            log.warning("beginning_not_committed", partitions=partitions, reason=str(error))
            return added
        # The first offset is not asked for: the client may not have heard of the partition yet.
        places = ends | dict.fromkeys(new, OFFSET_BEGINNING)
        return [TopicPartition(*at, places.get(at, given.offset)) for at, given in zip(partitions, added, strict=True)]
