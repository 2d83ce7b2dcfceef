"""Requests out: the producer of a client that calls."""

import random
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, InvalidRequest, KafkaFailure, PeltonError
from pelton.kafka_errors import SIZE_FAULTS, Complaints, ErrorLog, failure, of_settings
from pelton.producers.pending_calls import Call
from pelton.schemas.codes import Code
from pelton.schemas.headers import CANCEL
from pelton.schemas.request import Headers
from pelton.silent_log import silent_log

librdkafka_log = silent_log("pelton.producers.librdkafka")

SERVE_EVERY = 32
LOOK_EVERY_S = 60.0
ANSWER_S = 5.0

_DEFAULTS: Mapping[str, Any] = {
    "linger.ms": 1,
    "partitioner": "murmur2_random",
    "socket.nagle.disable": True,
    "topic.metadata.propagation.max.ms": 5_000,
    # Who waits hears at its own deadline; until the longest there can be, the broker may come back.
    "message.timeout.ms": 600_000,
}
_PROMISED: Mapping[str, Any] = {
    "enable.idempotence": True,
    "acks": "all",
    "delivery.report.only.error": True,
    "logger": librdkafka_log,
}

OnFailed = Callable[[Call, PeltonError], None]


class RequestSender:
    """Sends calls to the request topic; full means wait, and what cannot be delivered is reported to `on_failed`."""

    def __init__(
        self,
        properties: Mapping[str, Any],
        topic: str,
        on_failed: OnFailed,
        on_broken: Callable[[KafkaFailure], None],
        make_producer: Callable[[dict[str, Any]], Producer],
        clock: Callable[[], float],
    ) -> None:
        self._topic, self._on_failed, self._on_broken, self._clock = topic, on_failed, on_broken, clock
        self._errors = ErrorLog("caller's producer")
        self._complaints = Complaints()
        self._last_error: KafkaError | None = None
        self._last_error_s = 0.0
        self._config = {**_DEFAULTS, **properties, **_PROMISED, "error_cb": self._note}
        self._make_producer = make_producer
        with of_settings():
            self._producer = make_producer(self._config)
        self._single: Producer | None = None
        self._making_single = threading.Lock()
        self._until_served = SERVE_EVERY
        self.n_partitions: dict[str, int] = {}
        self._look_at_s = clock() + LOOK_EVERY_S

    def reach(self, topics: list[str], deadline: Deadline) -> None:
        """Learn how many partitions each topic has; raises KafkaFailure unless the broker has them all."""
        for topic in topics:
            ask = partial(self._producer.list_topics, topic)
            found = self._complaints.ask(lambda left_s: ask(timeout=left_s), self.serve, deadline).topics[topic]  # noqa: B023
            if found.error is not None:
                raise type(failure(found.error))(f"{topic}: {found.error.str()}")
            self.n_partitions[topic] = len(found.partitions)

    def look_again(self) -> None:
        """Once a minute learn of partitions that were added to the request topic; nobody waits for the broker."""
        if self._clock() >= self._look_at_s:
            self._look_at_s = self._clock() + LOOK_EVERY_S
            threading.Thread(target=self._look, name="pelton-partitions", daemon=True).start()

    def send(self, call: Call, partition: int) -> bool:
        """Send a call; tells whether there was room. Raises InvalidRequest for one too large, or KafkaFailure."""
        sent = self._send_by(self._producer, call, partition, partial(self._report, call, partition))
        self._until_served -= 1
        if not sent or self._until_served <= 0:
            self._until_served = SERVE_EVERY
            self.serve()
        return sent

    def another_partition(self, partition: int) -> int:
        """Return a partition of the request topic that is not this one."""
        n = self.n_partitions[self._topic]
        return (partition + 1 + random.randrange(n - 1)) % n

    def send_cancel(self, call: Call) -> None:
        """Tell whoever has the call that nobody waits for it; if that cannot be sent, let it be."""
        headers: Headers = [*call.headers, (CANCEL, b"1")]  # with the address: ids of two callers may be equal
        with suppress(PeltonError):
            for partition in {call.partition, call.partition if call.hedged_to is None else call.hedged_to}:
                self._produce(self._producer, call.key, None, headers, partition, None)

    def last_word(self, since_s: float) -> str:
        """Return what Kafka has complained of since then, or nothing."""
        return self._last_error.str() if self._last_error and self._last_error_s >= since_s else ""

    def serve(self, timeout_s: float = 0.0) -> None:
        """Serve delivery reports for up to `timeout_s` seconds."""
        try:
            self._producer.poll(timeout_s)
            if self._single is not None:
                self._single.poll(0)
        except KafkaException as dead:
            self._on_broken(failure(dead))

    def flush(self, timeout_s: float) -> None:
        """Wait until all has been sent, for `timeout_s` seconds at most, and drop the rest."""
        try:
            if self._producer.flush(timeout_s):
                self._producer.purge()
                self._producer.poll(0)
        except KafkaException as dead:
            self._on_broken(failure(dead))

    def _look(self) -> None:
        with suppress(KafkaFailure):  # the next look may find it
            self.reach([self._topic], Deadline.after(ANSWER_S))

    def _send_by(self, producer: Producer, call: Call, partition: int, on_delivery: Any) -> bool:
        return self._produce(producer, call.key, call.value, call.headers, partition, on_delivery)

    def _produce(
        self, producer: Producer, key: bytes, value: bytes | None, headers: Any, partition: int, on_delivery: Any
    ) -> bool:
        try:
            producer.produce(self._topic, value, key, partition=partition, headers=headers, on_delivery=on_delivery)
        except BufferError:
            return False
        except KafkaException as refused:
            raise refusal_of(refused.args[0], len(value or b"")) from refused
        return True

    def _report(self, call: Call, partition: int, error: KafkaError | None, _: Message) -> None:
        if error is not None and error.code() in SIZE_FAULTS:
            self._send_alone(call, partition)
        elif error is not None:
            self._on_failed(call, failure(error))

    def _send_alone(self, call: Call, partition: int) -> None:
        """Send a call as a request of its own: a broker refuses all that came along with one too large."""
        with self._making_single:
            if self._single is None:
                self._single = self._make_producer({**self._config, "batch.num.messages": 1, "linger.ms": 0})
        try:
            if not self._send_by(self._single, call, partition, partial(self._report_alone, call)):
                self._on_failed(call, BrokerUnavailable("no room to send it again"))
        except PeltonError as error:
            self._on_failed(call, error)

    def _report_alone(self, call: Call, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._on_failed(call, refusal_of(error, len(call.value)))

    def _note(self, error: KafkaError) -> None:
        self._last_error, self._last_error_s = error, self._clock()
        self._errors.warn(error)
        self._complaints.note(error)
        if error.fatal():
            self._on_broken(failure(error))


def refusal_of(error: KafkaError, n_bytes: int) -> PeltonError:
    """Return our error for a record of so many bytes that could not be written."""
    if error.code() in SIZE_FAULTS:
        return InvalidRequest(f"too_large: {n_bytes} bytes; {error.str()}", code=Code.TOO_LARGE)
    return failure(error)
