"""Answers out: through a producer of their own, which is no part of any transaction."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.deadline import Deadline
from pelton.errors import TopicMissing
from pelton.kafka_errors import SIZE_FAULTS, ErrorLog, failure
from pelton.producers.channel import Channel, Manner
from pelton.producers.reply_topics import ReplyTopics
from pelton.producers.tries import Tries
from pelton.producers.under_way import UnderWay
from pelton.schemas.codes import Code
from pelton.schemas.headers import CORRELATION_ID, TRACEPARENT, TRACESTATE
from pelton.schemas.reply import encode_error
from pelton.schemas.request import RequestHead

log = structlog.get_logger(__name__)

SLICE_S = 0.05
QUEUE_FULL = KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001 - librdkafka's own codes begin so


class Sent(StrEnum):
    """What became of an answer."""

    DELIVERED = "delivered"
    NO_TOPIC = "no_topic"
    """The reply topic, or the partition asked for, does not exist."""
    FORBIDDEN = "forbidden"
    """No pattern of the allow-list matches the reply topic."""
    FAILED = "failed"


Done = Callable[[Sent], None]
Report = Callable[[KafkaError | None, Any], None]


class Replies:
    """Sends answers; one that cannot be delivered is reported and touches nothing else.

    An answer is not state: it leaves after the work, and never inside a transaction, where an unknown reply topic
    would abort everybody's work. Safe from any thread.
    """

    def __init__(
        self,
        config: dict[str, Any],
        topics: ReplyTopics,
        landmarks: Iterable[str],
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
    ) -> None:
        self.topics, self.tries = topics, Tries()
        self._landmarks = tuple(landmarks)
        self._errors = ErrorLog("replies")
        self._lost, self._closed, self._renewing = False, False, threading.Lock()
        self._open = partial(Channel, config, make_producer=make_producer, on_error=self._on_error)
        self._channels = {Manner.EACH: self._open(manner=Manner.EACH)}
        self._under_way = UnderWay()

    def send(self, head: RequestHead, value: bytes, trace_id: str, done: Done) -> None:
        """Send an answer to where its caller reads; `done` hears, from any thread, what became of it."""
        topic = head.reply_topic
        assert topic is not None, "nobody reads an answer without a reply topic"
        if not self.topics.allows(topic):
            done(Sent.FORBIDDEN)
            return
        self._under_way.begin()
        self.topics.when_known(topic, partial(self._produce, head, value, trace_id, done))

    def serve(self, timeout_s: float = 0) -> None:
        """Serve delivery reports."""
        for channel in tuple(self._channels.values()):
            try:
                channel.producer.poll(timeout_s if channel.manner is Manner.EACH else 0)
            except KafkaException as error:
                self._on_error(error.args[0])
        if self._lost:
            self._renew()

    def flush(self, deadline: Deadline) -> bool:
        """Wait until every answer is delivered or given up; return whether it was in time."""
        while self.in_flight and not deadline.expired and not self._closed:
            self.serve(min(SLICE_S, deadline.remaining_s()))
        return not self.in_flight

    def close(self) -> None:
        """Drop what has not left; nobody hears of it, so that whoever takes the requests over answers them."""
        self._closed = True
        for channel in tuple(self._channels.values()):
            channel.producer.purge()

    @property
    def in_flight(self) -> int:
        """Answers without a delivery report."""
        return self._under_way.n

    def waiting_s(self) -> float:
        """Return for how long answers have been on their way and none was delivered, in seconds; from any thread."""
        return self._under_way.waiting_s()

    def reach(self, timeout_s: float) -> None:
        """Ask the broker whether it is there; from any thread. Raises KafkaFailure when it does not answer.

        It is asked for the landmarks, topics known to exist: whether a reply topic does is its callers' concern.
        """
        with suppress(TopicMissing):
            self._channels[Manner.EACH].reach(self._landmarks, timeout_s)

    def _renew(self) -> None:
        """Replace the producers after one has failed for good; what they held is reported as failed."""
        if self._renewing.acquire(blocking=False):
            try:
                for manner, channel in tuple(self._channels.items()):
                    dead = channel.producer
                    channel.open(manner)
                    with suppress(KafkaException):
                        dead.poll(0)  # what it has to report after the news of its end
                self._lost = False
            finally:
                self._renewing.release()

    def _on_error(self, error: KafkaError) -> None:
        self._errors.warn(error)
        self._lost = self._lost or error.fatal()

    def _produce(self, head: RequestHead, value: bytes, trace_id: str, done: Done, n_partitions: int) -> None:
        if (head.reply_partition or 0) >= n_partitions:
            log.debug("reply_has_no_topic", topic=head.reply_topic, partition=head.reply_partition)
            self._end(done, Sent.NO_TOPIC)
            return
        self._enqueue(Manner.EACH, head, value, partial(self._report, head, value, trace_id, done))

    def _enqueue(self, manner: Manner, head: RequestHead, value: bytes, report: Report) -> None:
        headers: list[tuple[str, str | bytes | None]] = []
        if head.correlation_id is not None:
            headers.append((CORRELATION_ID, head.correlation_id))
        if head.traceparent is not None:
            headers.append((TRACEPARENT, head.traceparent))
        if head.tracestate is not None:
            headers.append((TRACESTATE, head.tracestate))
        if self._lost:
            self._renew()
        where = {"partition": -1 if head.reply_partition is None else head.reply_partition, "headers": headers}
        producer = self._channels[manner].producer
        try:
            producer.produce(str(head.reply_topic), value, **where, on_delivery=report)  # type: ignore[arg-type]
        except KafkaException as error:
            report(error.args[0], None)
        except BufferError:
            report(QUEUE_FULL, None)

    def _report(
        self, head: RequestHead, value: bytes, trace_id: str, done: Done, error: KafkaError | None, _message: Any
    ) -> None:
        if error is not None and error.code() in SIZE_FAULTS:
            # A broker refuses all that came along with one too large: alone, each shows what it is.
            if Manner.SINGLY not in self._channels:
                self._channels[Manner.SINGLY] = self._open(manner=Manner.SINGLY)
            self._enqueue(Manner.SINGLY, head, value, partial(self._report_alone, head, trace_id, done))
        else:
            self._last_report(head, done, error, None)

    def _report_alone(
        self, head: RequestHead, trace_id: str, done: Done, error: KafkaError | None, _message: Any
    ) -> None:
        if error is not None and error.code() in SIZE_FAULTS:
            value = encode_error(Code.TOO_LARGE, "the answer is too large for its topic", trace_id)
            self._enqueue(Manner.SINGLY, head, value, partial(self._last_report, head, done))
        else:
            self._last_report(head, done, error, None)

    def _last_report(self, head: RequestHead, done: Done, error: KafkaError | None, _message: Any) -> None:
        if error is None:
            self.tries.succeeded()
            self._end(done, Sent.DELIVERED)
            return
        if self._closed:
            return
        if isinstance(failure(error), TopicMissing):
            self.topics.forget(str(head.reply_topic))
        else:
            self.tries.failed(error.str())
        self._errors.warn(error, head.reply_topic)
        self._end(done, Sent.FAILED)

    def _end(self, done: Done, sent: Sent) -> None:
        self._under_way.end(arrived=sent is Sent.DELIVERED)
        done(sent)
