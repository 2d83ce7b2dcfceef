"""Dead letters out: the original record byte for byte, with the reason in its headers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.kafka_errors import SIZE_FAULTS
from pelton.schemas.dead_letter import Headers, dead_letter_headers
from pelton.schemas.headers import DEAD_LETTER_HEADERS
from pelton.schemas.records import Message
from pelton.schemas.rejection import Rejection

CUT_BYTES = 16_384
"""What is kept of a value that does not fit into the dead-letter topic."""
STUMP_BYTES = 256
"""What is kept of key and value, without the original headers, when even that does not fit."""

Done = Callable[[KafkaError | None, Any], None]
Form = tuple[bytes | None, bytes | None, Headers]


class DeadLetters:
    """Writes rejected records to the dead-letter topic, keyed as they were, in any partition.

    A record too large even for that topic is written again with less of it: first its value is cut, then key and value
    are, and its own headers left out. The reason says so.
    """

    def __init__(self, topic: str, model: str) -> None:
        self.topic = topic
        self._model = model

    def produce(self, producer: Producer, message: Message, rejection: Rejection, done: Done) -> None:
        """Produce one dead letter; `done` is its delivery report, of the last try when there are several."""
        self._send(producer, self._forms(message, rejection), message, done)

    def _forms(self, message: Message, rejection: Rejection) -> Iterator[Form]:
        key, value = message.key(), message.value()
        yield key, value, dead_letter_headers(message, rejection, self._model)
        if value is not None and len(value) > CUT_BYTES:
            cut = replace(rejection, reason=f"(cut from {len(value)} bytes) {rejection.reason}")
            yield key, value[:CUT_BYTES], dead_letter_headers(message, cut, self._model)
        stump = replace(rejection, reason=f"(key, value and headers cut) {rejection.reason}")
        headers = dead_letter_headers(message, stump, self._model)
        ours = [header for header in headers if header[0] in DEAD_LETTER_HEADERS]
        yield key and key[:STUMP_BYTES], value and value[:STUMP_BYTES], ours

    def _send(self, producer: Producer, forms: Iterator[Form], message: Message, done: Done) -> None:
        key, value, headers = next(forms)
        report = partial(self._report, producer, forms, message, done)
        try:
            producer.produce(self.topic, value=value, key=key, headers=headers, on_delivery=report)
        except KafkaException as error:
            report(error.args[0], message)

    def _report(
        self,
        producer: Producer,
        forms: Iterator[Form],
        message: Message,
        done: Done,
        error: KafkaError | None,
        delivered: Any,
    ) -> None:
        if error is not None and error.code() in SIZE_FAULTS:
            try:
                self._send(producer, forms, message, done)
            except StopIteration:
                done(error, delivered)
        else:
            done(error, delivered)
