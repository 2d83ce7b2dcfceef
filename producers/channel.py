"""The connection that scores leave by, in one of three manners."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.deadline import Deadline
from pelton.kafka_errors import Complaints, failure

OnError = Callable[[KafkaError], None]


class Manner(StrEnum):
    """How deliveries are followed.

    FAST: only the last message of a call has a report. librdkafka keeps a gapless series within a partition and turns
    any gap into a fatal error, so that one report answers for all before it (see DESIGN.md, "Non-obvious").
    EACH: every message has a report, because one call may spread over partitions. Costs a third more.
    TRANSACTED: as FAST, but it is the commit that answers for all: it fails if any message did.
    SINGLY: every message has a report and a request of its own. A broker refuses requests, not messages: only so is
    the record at fault known by name.
    """

    FAST = "fast"
    EACH = "each"
    TRANSACTED = "transacted"
    SINGLY = "singly"


_PROPERTIES: dict[Manner, dict[str, Any]] = {
    Manner.FAST: {"enable.gapless.guarantee": True},
    Manner.EACH: {},
    Manner.TRANSACTED: {},
    Manner.SINGLY: {"batch.num.messages": 1, "linger.ms": 0},
}


class Channel:
    """An idempotent producer that can be replaced by one of another manner."""

    def __init__(
        self,
        config: dict[str, Any],
        manner: Manner,
        make_producer: Callable[[dict[str, Any]], Producer],
        on_error: OnError,
    ) -> None:
        self._config, self._make_producer, self._on_error = config, make_producer, on_error
        self._complaints = Complaints()
        self.producer: Producer
        self.manner = manner
        self._generation = 0
        self.open(manner)

    @property
    def reports_each(self) -> bool:
        """Whether every message has a report."""
        return self.manner in (Manner.EACH, Manner.SINGLY)

    def reach(self, topics: Iterable[str], timeout_s: float) -> None:
        """Ask the broker for topics; from any thread. Raises KafkaFailure unless it has them all."""
        deadline = Deadline.after(timeout_s)
        for topic in topics:
            try:
                error = self.producer.list_topics(topic, timeout=deadline.remaining_s()).topics[topic].error
            except KafkaException as refusal:
                raise self._complaints.explain(failure(refusal)) from refusal
            if error is not None:
                raise type(failure(error))(f"{topic}: {error.str()}")

    def discard(self) -> None:
        """Drop whatever the producer still holds."""
        self.producer.purge()
        # A producer that has failed for good says so once more; over a report Python makes a SystemError of it.
        with suppress(KafkaException, SystemError):
            self.producer.poll(0)

    def open(self, manner: Manner) -> None:
        """Replace the producer; what the old one still held is dropped."""
        if self._generation:
            self.discard()
        self._generation += 1
        generation = self._generation

        def on_error(error: KafkaError) -> None:
            if generation == self._generation:
                self._complaints.note(error)
                self._on_error(error)

        self.manner = manner
        self.producer = self._make_producer({**self._config, **_PROPERTIES[manner], "error_cb": on_error})
