"""Send events into a topic, and know that they arrived."""

import math
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, ClientClosed, KafkaFailure, SettingsError
from pelton.kafka_errors import Complaints, ErrorLog, of_settings
from pelton.producers.ambient_trace import trace_headers
from pelton.producers.call_options import connection
from pelton.producers.forks import own_process_only
from pelton.producers.request_body import as_bytes, encode_value
from pelton.producers.request_sender import librdkafka_log, refusal_of
from pelton.schemas.headers import IDEMPOTENCY_KEY, TRACEPARENT

SERVE_S = 0.1
FULL_S = 0.02
MOST_DELIVERY_S = 1_000_000.0

_DEFAULTS: Mapping[str, Any] = {
    "linger.ms": 5,
    "partitioner": "murmur2_random",
    "compression.type": "lz4",
    "topic.metadata.propagation.max.ms": 5_000,
}
Headers = Iterable[tuple[str, str | bytes | None]]


class Delivered(NamedTuple):
    """Where an event lies, safe in all in-sync replicas."""

    topic: str
    partition: int
    offset: int


class EventProducer:
    """Sends events of one topic, idempotently, from any number of threads.

    `kafka` is bootstrap addresses or librdkafka properties. `id_field` and `key_field` name the fields of an event that
    hold its id and its key. An event without an id gets one, in the header `idempotency-key`, where Pelton looks
    for it; an event without a key has its id as key. What is not delivered within `delivery_s` seconds has failed.
    Raises SettingsError for options that cannot work.

        with EventProducer("127.0.0.1:9092", "payments", id_field="payment_id", key_field="card") as producer:
            where = producer.send({"payment_id": "p-3", "card": "c-1", "amount": 250.0}).result()
            places = producer.send_many(payments)
    """

    def __init__(
        self,
        kafka: str | Mapping[str, Any],
        topic: str,
        *,
        id_field: str | None = None,
        key_field: str | None = None,
        delivery_s: float = 60.0,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        self._topic, self._id_field, self._key_field, self._delivery_s = topic, id_field, key_field, delivery_s
        if not 0 < delivery_s <= MOST_DELIVERY_S:  # to the client, 0 is for ever
            raise SettingsError(f"delivery_s: must be more than 0 and at most {MOST_DELIVERY_S:g}, not {delivery_s}")
        self._errors, self._complaints = ErrorLog("event producer"), Complaints()
        promised = {
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": math.ceil(delivery_s * 1000),
            "error_cb": self._note,
            "logger": librdkafka_log,
        }
        with of_settings():
            self._producer = make_producer({**_DEFAULTS, **connection(kafka), **promised})
        self._refusal: ClientClosed | None = None
        self._serving = threading.Thread(target=self._serve, name="pelton-deliveries", daemon=True)
        self._serving.start()
        own_process_only(self)

    def send(
        self, event: Any, *, event_id: str | None = None, key: str | bytes | None = None, headers: Headers = ()
    ) -> Future[Delivered]:
        """Send one event, a mapping or bytes as they are, and return the future of where it lies.

        Waits while the producer's queue is full. Raises InvalidRequest (`not_finite`, `malformed`, `too_large`),
        ClientClosed, BrokerUnavailable; the future raises those and other KafkaFailures.
        """
        if self._refusal is not None:
            raise self._refusal
        value = event if isinstance(event, bytes) else encode_value(event)
        fields = event if isinstance(event, Mapping) else {}
        told = list(headers)
        known = event_id or _text(fields, self._id_field) or _text(dict(told), IDEMPOTENCY_KEY)
        if not any(name == TRACEPARENT for name, _ in told):
            told += trace_headers()
        if event_id or not known:
            known = known or uuid.uuid4().hex
            told.append((IDEMPOTENCY_KEY, known.encode()))
        place = as_bytes(key) or as_bytes(_text(fields, self._key_field)) or as_bytes(known)
        future: Future[Delivered] = Future()
        self._produce(value, place, told, partial(self._report, future, len(value)))
        return future

    def send_many(self, events: Iterable[Any]) -> list[Delivered]:
        """Send events in order, and return where each of them lies; raises what `send` does for the first that failed.

        Others may have arrived all the same: send all again under the same ids, and a repeat can be recognised.
        """
        return [future.result() for future in [self.send(event) for event in events]]

    def close(self) -> None:
        """Wait until every event has arrived or failed, for `delivery_s` seconds at most, and disconnect."""
        if self._refusal is None:
            self._refusal = ClientClosed("the producer is closed")
            if self._producer.flush(self._delivery_s):
                self._producer.purge()
                self._producer.flush(1.0)
            self._serving.join(10 * SERVE_S)

    def disown(self) -> None:
        """Refuse everything from now on, in a process that has only a copy of the connection."""
        self._refusal = ClientClosed("the producer belongs to the process that made it; make one after the fork")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _produce(self, value: bytes, key: bytes | None, headers: Any, on_delivery: Any) -> None:
        deadline = Deadline.after(self._delivery_s)
        while True:
            try:
                return self._producer.produce(self._topic, value, key, headers=headers, on_delivery=on_delivery)
            except BufferError:
                if deadline.expired:
                    raise BrokerUnavailable(f"the queue has been full for {self._delivery_s:g} s") from None
                self._producer.poll(FULL_S)
            except KafkaException as refused:
                raise refusal_of(refused.args[0], len(value)) from refused

    def _note(self, error: KafkaError) -> None:
        self._errors.warn(error)
        self._complaints.note(error)

    def _report(self, future: Future[Delivered], n_bytes: int, error: KafkaError | None, message: Message) -> None:
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            refused = refusal_of(error, n_bytes)
            future.set_exception(self._complaints.explain(refused) if isinstance(refused, KafkaFailure) else refused)
        else:
            future.set_result(Delivered(message.topic() or "", message.partition() or 0, message.offset() or 0))

    def _serve(self) -> None:
        while self._refusal is None:
            with suppress(KafkaException):  # a dead producer says so once here, and to each event's future
                self._producer.poll(SERVE_S)


def _text(fields: Mapping[str, Any], name: str | None) -> str | None:
    if name is None or (value := fields.get(name)) is None:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
