"""Dead letters out: the original record byte for byte, with the reason in its headers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.kafka_errors import RECORD_FAULTS
from pelton.schemas.dead_letter import dead_letter_headers
from pelton.schemas.records import Message
from pelton.schemas.rejection import Rejection

CUT_BYTES = 16_384
"""What is kept of a value that does not fit into the dead-letter topic."""

Done = Callable[[KafkaError | None, Any], None]


class DeadLetters:
    """Writes rejected records to the dead-letter topic, keyed as they were, in any partition.

    A record too large even for that topic is written again with its value cut, and only then given up on.
    """

    def __init__(self, topic: str, model: str) -> None:
        self.topic = topic
        self._model = model

    def produce(self, producer: Producer, message: Message, rejection: Rejection, done: Done) -> None:
        """Produce one dead letter; `done` is its delivery report, of the last try when there are two."""
        self._send(producer, message, rejection, message.value(), done)

    def _send(
        self, producer: Producer, message: Message, rejection: Rejection, value: bytes | None, done: Done
    ) -> None:
        retry = None if value is None or len(value) <= CUT_BYTES else value[:CUT_BYTES]
        report = partial(self._report, producer, message, rejection, retry, done)
        try:
            producer.produce(
                self.topic,
                value=value,
                key=message.key(),
                headers=dead_letter_headers(message, rejection, self._model),
                on_delivery=report,
            )
        except KafkaException as error:
            report(error.args[0], message)

    def _report(
        self,
        producer: Producer,
        message: Message,
        rejection: Rejection,
        retry: bytes | None,
        done: Done,
        error: KafkaError | None,
        delivered: Any,
    ) -> None:
        if error is not None and error.code() in RECORD_FAULTS and retry is not None:
            self._send(producer, message, rejection, retry, done)
        else:
            done(error, delivered)
