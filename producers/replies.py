"""Answers out: through a producer of their own, which is no part of any transaction."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from pelton.deadline import Deadline
from pelton.errors import TopicMissing
from pelton.kafka_errors import SIZE_FAULTS, ErrorLog, failure
from pelton.producers.channel import Channel, Manner
from pelton.producers.envelope import Envelope, Sent
from pelton.producers.reply_topics import ReplyTopics
from pelton.producers.tries import Tries
from pelton.producers.under_way import UnderWay
from pelton.schemas.codes import Code
from pelton.schemas.reply import encode_error
from pelton.schemas.request import RequestHead

log = structlog.get_logger(__name__)

SLICE_S = 0.05
# librdkafka's own codes begin with an underscore.
QUEUE_FULL = KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001
GIVEN_UP = frozenset({KafkaError._FATAL, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001
"""What a producer says of messages that it held when it failed for good."""
TOO_LARGE = "the answer is too large for its topic"


Done = Callable[[Sent], None]


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
        self._given_up: deque[Envelope] = deque()

    def send(self, head: RequestHead, value: bytes, trace_id: str, done: Done) -> None:
        """Send an answer to where its caller reads; `done` hears, from any thread, what became of it."""
        topic = head.reply_topic
        assert topic is not None, "nobody reads an answer without a reply topic"
        if not self.topics.allows(topic):
            done(Sent.FORBIDDEN)
            return
        self._under_way.begin()
        ready = partial(self._produce, Envelope(head, value, trace_id, done))
        self.topics.when_known(topic, ready, head.reply_partition or 0)

    def serve(self, timeout_s: float = 0) -> None:
        """Serve delivery reports."""
        for channel in tuple(self._channels.values()):
            try:
                channel.producer.poll(timeout_s if channel.manner is Manner.EACH else 0)
            except KafkaException as error:
                self._on_error(error.args[0])
        if self._lost:
            self._renew()
        self._send_again()

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
        """Replace the producers after one has failed for good; what they held is sent again, once."""
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

    def _produce(self, answer: Envelope, n_partitions: int) -> None:
        if (answer.head.reply_partition or 0) >= n_partitions:
            log.debug("reply_has_no_topic", topic=answer.topic, partition=answer.head.reply_partition)
            self._end(answer, Sent.NO_TOPIC)
            return
        self._enqueue(answer)

    def _enqueue(self, answer: Envelope) -> None:
        if self._lost:
            self._renew()
        head, report = answer.head, partial(self._report, answer)
        producer = self._channels[answer.manner].producer
        try:
            producer.produce(
                str(head.reply_topic),
                answer.value,
                partition=-1 if head.reply_partition is None else head.reply_partition,
                headers=answer.headers(),
                on_delivery=report,
            )
        except KafkaException as error:
            report(error.args[0], None)
        except BufferError:
            report(QUEUE_FULL, None)

    def _report(self, answer: Envelope, error: KafkaError | None, _message: Any) -> None:
        if error is None:
            self.tries.succeeded()
            self._end(answer, Sent.DELIVERED)
        elif self._closed:
            return
        elif error.code() in SIZE_FAULTS and not answer.replaced:
            self._send_singly(answer)
        elif error.code() in GIVEN_UP and not answer.again:
            answer.again = True
            self._given_up.append(answer)  # this may be its producer's last word: the next one is not there yet
        else:
            self._fail(answer, error)

    def _send_singly(self, answer: Envelope) -> None:
        """Send one refused for its size alone: a broker refuses all that came along with it, too.

        What is refused alone is too large itself, and an answer that says so takes its place.
        """
        if answer.manner is Manner.SINGLY:
            answer.value, answer.replaced = encode_error(Code.TOO_LARGE, TOO_LARGE, answer.trace_id), True
        elif Manner.SINGLY not in self._channels:
            self._channels[Manner.SINGLY] = self._open(manner=Manner.SINGLY)
        answer.manner = Manner.SINGLY
        self._enqueue(answer)

    def _send_again(self) -> None:
        while self._given_up:
            with suppress(IndexError):  # another thread was quicker
                self._enqueue(self._given_up.popleft())

    def _fail(self, answer: Envelope, error: KafkaError) -> None:
        if isinstance(failure(error), TopicMissing):
            self.topics.forget(answer.topic)
        else:
            self.tries.failed(error.str())
        self._errors.warn(error, answer.topic)
        self._end(answer, Sent.FAILED)

    def _end(self, answer: Envelope, sent: Sent) -> None:
        self._under_way.end(arrived=sent is Sent.DELIVERED)
        answer.done(sent)
