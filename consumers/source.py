"""Events in: one member of a consumer group, polled for columns of records."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from pelton.consumers.assignment import Assignment, Partition, RebalanceListener
from pelton.consumers.beginning import Beginning
from pelton.consumers.columns import in_columns
from pelton.consumers.commit_answers import CommitAnswers
from pelton.consumers.ledger import Ledger
from pelton.consumers.standing import Standing
from pelton.deadline import Deadline
from pelton.kafka_errors import FATAL, NO_RESET, ErrorLog, failure, fenced_by_commit, name_taken
from pelton.schemas.records import Records

log = structlog.get_logger(__name__)

POSITIONS_EVERY_S = 0.5
NAME_EVERY_S = 1.0
MEMBERSHIP, GROUP = "static membership", "group"


class Source:
    """A group member that brings records as columns, one block a partition, and never stops polling.

    One thread at a time. `poll` waits for as many records as a batch lacks and takes along what else has been fetched
    by then: a call waits for all that it asks for, or its whole time-out (see DESIGN.md, "Non-obvious").
    """

    def __init__(
        self,
        config: dict[str, Any],
        topics: list[str],
        assignment: Assignment,
        *,
        max_records: int,
        transactional: bool = False,
        make_consumer: Callable[[dict[str, Any]], Consumer] = Consumer,
    ) -> None:
        self.assignment = assignment
        self.joined = self.rebalancing = False
        """Whether partitions have left, and the group has not said yet which come instead."""
        self.commits, self.problems, self._errors = CommitAnswers(), dict[str, str](), ErrorLog("consumer")
        self.unreadable: dict[Partition, str] = {}
        """Partitions that bring nothing, for want of an offset to begin at, until they are assigned anew."""
        self.member: Any = None
        """The group metadata to commit with; None while the group does not know this member."""
        self._topics, self._max_records, self._transactional = topics, max_records, transactional
        self.positions, self._positions_due = dict[Partition, int](), Deadline.after(0)
        self._polled_s, self._paused = time.monotonic(), False
        self._listener: RebalanceListener | None = None
        self._open = partial(make_consumer, {**config, "on_commit": self._on_commit, "error_cb": self._on_error})
        self._consumer, self._standing = self._open(), Standing(assignment)
        self.ledger = Ledger(self._consumer, self._standing)
        self._beginning = Beginning(self.ledger, config, topics)
        self._join_due: Deadline | None = None

    def join(self, listener: RebalanceListener | None) -> None:
        """Join the group; the listener hears in later polls which partitions come and go."""
        self._listener, self._join_due = listener, None
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def poll(self, timeout_s: float, wanted: int = 1, most: int | None = None) -> list[Records]:
        """Wait up to `timeout_s` for `wanted` records and return by partition what came, `most` at most, undecoded.

        Serves rebalances and the answers to commits on the way.
        """
        if self._join_due is not None and self._join_due.expired:
            self.join(self._listener)
        if self._positions_due.expired:
            self._look_up_positions()
        # What is there already may have come as early as the last poll ended, and has waited since.
        arrived_s = self._polled_s
        messages = self._consumer.consume(min(self._max_records, most or self._max_records), 0)
        if not messages:
            messages = self._consumer.consume(wanted, timeout_s)
            arrived_s = time.monotonic()
        self._polled_s = time.monotonic()
        # The call may have served a rebalance after it had found them: they may be another member's by now.
        blocks = in_columns(self._sound(messages), self._topics, self.assignment, arrived_s)
        return [block for block in blocks if block.epoch >= 0]

    def pause(self) -> None:
        """Fetch nothing for now, but keep polling."""
        self._paused = True
        self._consumer.pause(self._consumer.assignment())

    def resume(self) -> None:
        """Fetch again, from where the last poll ended."""
        self._paused = False
        self._consumer.resume(self._consumer.assignment())

    def leave(self) -> None:
        """Leave the group without a word to the listener: for a worker that failed, whose work is dropped."""
        self._listener = None
        self._consumer.close()

    def close(self) -> None:
        """Leave the group; partitions are revoked on the way."""
        self._consumer.close()

    def _look_up_positions(self) -> None:
        """Note where the consumer stands; other threads read it, since they must not call the consumer."""
        self._positions_due = Deadline.after(POSITIONS_EVERY_S)
        self._note_member()
        self._standing.check()
        owned = [TopicPartition(topic, number) for topic, number in self.assignment.partitions]
        found = self._consumer.position(owned) if owned else []
        self.positions = {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}

    def _note_member(self) -> None:
        """Take the group metadata while what we know of the assignment is what the group knows, for any thread."""
        self._standing.look(self._consumer)
        self.member = self._standing.metadata(self._consumer) if self._transactional else None

    def _sound(self, messages: list[Message]) -> list[Message]:
        sound = not any(message.error() for message in messages)
        return messages if sound else [message for message in messages if not self._is_error(message)]

    def _is_error(self, message: Message) -> bool:
        if (error := message.error()) is None:
            return False
        topic, why = message.topic(), failure(error).args[0]
        self._on_error(error, topic)
        if topic is not None:
            self.problems[topic] = why
            if error.code() == NO_RESET:
                self.unreadable[topic, message.partition() or 0] = why
        if name_taken(error) or (fenced_by_commit(error) and not (self.assignment.partitions and self.ledger.admitted)):
            self.problems[MEMBERSHIP] = error.str()
            self._begin_anew()
        elif error.code() == FATAL:
            raise failure(error)
        return True

    def _begin_anew(self) -> None:
        """Join again in a while with another client: this one gave itself up, though nobody has taken its name."""
        if owned := [TopicPartition(*at) for at in self.assignment.partitions]:
            self._on_lost(self._consumer, owned)
        self._consumer.close()
        self._consumer = self.ledger.consumer = self._open()
        self.joined, self._join_due = False, Deadline.after(NAME_EVERY_S)

    def _on_error(self, error: KafkaError, topic: str | None = None) -> None:
        self._errors.warn(error, topic)
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            self.problems[GROUP] = error.str()

    def _on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        self.ledger.answered(offsets)
        self.commits.hear(error, offsets)

    def _on_assign(self, consumer: Consumer, added: list[TopicPartition]) -> None:
        self._note_member()
        self._beginning.assign(consumer, added)
        self.joined, self.rebalancing = True, False
        partitions = _partitions(added)
        self._forget(partitions)
        epoch = self.assignment.assign(partitions)
        for topic in (MEMBERSHIP, GROUP, *(topic for topic, _ in partitions)):
            self.problems.pop(topic, None)
        if self._listener is not None:
            self._listener.on_assigned(partitions)
        # A partition that left while it was paused is still paused for the client when it comes back.
        (consumer.pause if self._paused else consumer.resume)(added)
        log.info("partitions_assigned", partitions=partitions, epoch=epoch)

    def _on_revoke(self, _consumer: Consumer, gone: list[TopicPartition]) -> None:
        partitions, self.rebalancing = _partitions(gone), True
        self._note_member()
        if self._listener is not None:
            self._listener.on_revoked(partitions)
        self.assignment.revoke(partitions)
        self._forget(partitions)
        log.info("partitions_revoked", partitions=partitions)

    def _on_lost(self, _consumer: Consumer, gone: list[TopicPartition]) -> None:
        partitions, self.rebalancing = _partitions(gone), True
        self.member = None
        self._standing.forget()
        self.assignment.revoke(partitions)
        self._forget(partitions)
        if self._listener is not None:
            self._listener.on_lost(partitions)
        log.warning("partitions_lost", partitions=partitions)

    def _forget(self, moved: list[Partition]) -> None:
        self.unreadable = {at: why for at, why in self.unreadable.items() if at not in moved}
        self.positions = {at: offset for at, offset in self.positions.items() if at not in moved}


def _partitions(given: list[TopicPartition]) -> list[Partition]:
    return [(partition.topic, partition.partition) for partition in given]
