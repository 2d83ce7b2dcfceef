"""Dead letters out: the original record byte for byte, with the reason in its headers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from pelton.kafka_errors import SIZE_FAULTS
from pelton.producers.channel import Channel, Manner
from pelton.schemas.dead_letter import Headers, dead_letter_headers
from pelton.schemas.headers import DEAD_LETTER_HEADERS
from pelton.schemas.records import Message
from pelton.schemas.rejection import Rejection

CUT_BYTES = 16_384
"""What is kept of a value that does not fit into the dead-letter topic."""
STUMP_BYTES = 256
"""What is kept of key and value, without the original headers, when even that does not fit."""
FRAMING_BYTES = 128
"""What a record batch and its one record have beside key, value and headers, at most."""
HEADER_BYTES = 8
"""What a header has beside name and value, at most."""

Done = Callable[[KafkaError | None, Any], None]


@dataclass(frozen=True, slots=True)
class _Form:
    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def n_bytes(self) -> int:
        headers = sum(HEADER_BYTES + 4 * len(name) + len(value or b"") for name, value in self.headers)
        return FRAMING_BYTES + len(self.key or b"") + len(self.value or b"") + headers


class DeadLetters:
    """Writes rejected records to the dead-letter topic, keyed as they were, in any partition.

    A record too large even for that topic is written with less of it: first its value is cut, then key and value are,
    and its own headers left out. The reason says so. What the topic takes is known from its settings, and from what
    it has refused since.
    """

    def __init__(self, topic: str, model: str, max_bytes: int = 1_000_000) -> None:
        self.topic = topic
        self._model, self._max_bytes = model, max_bytes

    def produce(self, channel: Channel, message: Message, rejection: Rejection, done: Done) -> None:
        """Produce one dead letter; `done` is its delivery report, of the last try when there are several."""
        self._send(channel, self._forms(message, rejection), message, done)

    def _forms(self, message: Message, rejection: Rejection) -> Iterator[_Form]:
        yield from (form for form in self._readable(message, rejection) if form.n_bytes <= self._max_bytes)
        stump = replace(rejection, reason=f"(key, value and headers cut) {rejection.reason}")
        headers = dead_letter_headers(message, stump, self._model)
        ours = [header for header in headers if header[0] in DEAD_LETTER_HEADERS]
        key, value = message.key(), message.value()
        yield _Form(key and key[:STUMP_BYTES], value and value[:STUMP_BYTES], ours)

    def _readable(self, message: Message, rejection: Rejection) -> Iterator[_Form]:
        key, value = message.key(), message.value()
        yield _Form(key, value, dead_letter_headers(message, rejection, self._model))
        if value is not None and len(value) > CUT_BYTES:
            cut = replace(rejection, reason=f"(cut from {len(value)} bytes) {rejection.reason}")
            yield _Form(key, value[:CUT_BYTES], dead_letter_headers(message, cut, self._model))

    def _send(self, channel: Channel, forms: Iterator[_Form], message: Message, done: Done) -> None:
        form = next(forms)
        report = partial(self._report, channel, form, forms, message, done)
        try:
            channel.producer.produce(self.topic, form.value, form.key, headers=form.headers, on_delivery=report)
        except KafkaException as error:
            report(error.args[0], message)

    def _report(
        self,
        channel: Channel,
        form: _Form,
        forms: Iterator[_Form],
        message: Message,
        done: Done,
        error: KafkaError | None,
        delivered: Any,
    ) -> None:
        # In company, the request was too large and not this one.
        if error is not None and error.code() in SIZE_FAULTS and channel.manner is Manner.SINGLY:
            self._max_bytes = min(self._max_bytes, form.n_bytes - 1)
            try:
                self._send(channel, forms, message, done)
            except StopIteration:
                done(error, delivered)
        else:
            done(error, delivered)
