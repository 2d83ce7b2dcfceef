"""The connection that scores leave by, in one of two manners."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from confluent_kafka import KafkaError, Producer

OnError = Callable[[KafkaError], None]


class Manner(StrEnum):
    """How deliveries are followed.

    FAST: only the last message of a call has a report. librdkafka keeps a gapless series within a partition and turns
    any gap into a fatal error, so that one report answers for all before it (see DESIGN.md, "Non-obvious").
    CAREFUL: every message has a report, so that a record at fault is known by name. Costs a third more.
    """

    FAST = "fast"
    CAREFUL = "careful"


class Channel:
    """An idempotent producer that can be replaced by one of the other manner."""

    def __init__(
        self,
        config: dict[str, Any],
        manner: Manner,
        make_producer: Callable[[dict[str, Any]], Producer],
        on_error: OnError,
    ) -> None:
        self._config, self._make_producer, self._on_error = config, make_producer, on_error
        self.producer: Producer
        self.manner = manner
        self._generation = 0
        self.open(manner)

    @property
    def careful(self) -> bool:
        """Whether every message has a report."""
        return self.manner is Manner.CAREFUL

    def open(self, manner: Manner) -> None:
        """Replace the producer; what the old one still held is dropped."""
        if self._generation:
            self.producer.purge()
            self.producer.poll(0)
        self._generation += 1
        generation = self._generation

        def on_error(error: KafkaError) -> None:
            if generation == self._generation:
                self._on_error(error)

        gapless = manner is Manner.FAST
        self.manner = manner
        self.producer = self._make_producer({**self._config, "enable.gapless.guarantee": gapless, "error_cb": on_error})
