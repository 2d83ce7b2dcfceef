"""A producer that writes to Kafka in memory."""

import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Message

if TYPE_CHECKING:
    from pelton.testing_kafka import FakeKafka

OnDelivery = Callable[[KafkaError | None, Message], None]
Partition = tuple[str, int]

QUEUE_FULL = KafkaError(KafkaError._QUEUE_FULL, "Local: Queue full")  # noqa: SLF001 - librdkafka's own codes begin so
PURGED = KafkaError(KafkaError._PURGE_QUEUE, "Local: Purged in queue")  # noqa: SLF001
FATAL = KafkaError(KafkaError._FATAL, "Local: Fatal error")  # noqa: SLF001
OTHER_RECORD = KafkaError(KafkaError._INVALID_DIFFERENT_RECORD, "Local: Other invalid record")  # noqa: SLF001
GAP = KafkaError(KafkaError._GAPLESS_GUARANTEE, "no gap-less guarantee", fatal=True)  # noqa: SLF001
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "Broker: Message size too large")


@dataclass(slots=True)
class Outgoing:
    """A record on its way to the broker."""

    topic: str
    partition: int
    value: bytes | None
    key: bytes | None
    on_delivery: OnDelivery | None
    timestamp_ms: int = 0
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)

    @property
    def n_bytes(self) -> int:
        """Bytes of key, value and headers."""
        return sum(len(part or b"") for part in (self.value, self.key, *(value for _, value in self.headers)))

    def as_message(self, offset: int | None = None) -> Message:
        """Return the record as its delivery report shows it."""
        place: Any = {} if offset is None else {"offset": offset}
        return Message(topic=self.topic, partition=self.partition, key=self.key, value=self.value, **place)


class FakeProducer:
    """The calls of `confluent_kafka.Producer` that Pelton makes, with the manners of the real one.

    Records leave in `poll`, in batches of one partition that a broker takes or refuses as a whole. A message counts in
    the queue until its delivery report has been served. With `enable.gapless.guarantee` a refused batch is fatal: the
    next `poll` raises, what waits is purged, and nothing more is taken.
    """

    def __init__(self, kafka: "FakeKafka", config: Mapping[str, Any]) -> None:
        self.config = dict(config)
        self._kafka = kafka
        self._max_messages = int(config.get("queue.buffering.max.messages", 100_000)) or 2**31
        self._max_queue_bytes = int(config.get("queue.buffering.max.kbytes", 2**20)) * 1024
        self._max_message_bytes = int(config.get("message.max.bytes", 1_000_000))
        self._batch = int(config.get("batch.num.messages", 10_000))
        self._gapless = bool(config.get("enable.gapless.guarantee", False))
        self._queues: dict[Partition, deque[Outgoing]] = {}
        self._reports: deque[tuple[KafkaError | None, Outgoing, int | None] | KafkaError] = deque()
        self._open = self._open_bytes = 0
        self._fatal = False

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        on_delivery: OnDelivery | None = None,
        timestamp: int = 0,
        headers: list[tuple[str, bytes | None]] | None = None,
    ) -> None:
        """Queue one record. Raises BufferError when the queue is full, KafkaException when it is refused at once."""
        sent = Outgoing(topic, partition, value, key, on_delivery, timestamp, list(headers or ()))
        error = self._enqueue(sent)
        if error is QUEUE_FULL:
            raise BufferError("Local: Queue full")
        if error is not None:
            raise KafkaException(error)

    def produce_batch(
        self, topic: str, messages: list[dict[str, Any]], partition: int = -1, on_delivery: OnDelivery | None = None
    ) -> int:
        """Queue records and return how many were taken; the others hold the reason under `_error`."""
        taken = 0
        for message in messages:
            callback = message.get("callback", on_delivery)
            sent = Outgoing(topic, partition, message.get("value"), message.get("key"), callback)
            if error := self._enqueue(sent):
                message["_error"] = error
            taken += error is None
        return taken

    def poll(self, timeout: float = -1) -> int:
        """Send what waits and serve the delivery reports; returns their number, raises a fatal error once."""
        self._transmit()
        if timeout and not self._reports:
            with self._kafka.changed:
                self._kafka.changed.wait(self._kafka.patience_s)
            self._transmit()
        served = 0
        while self._reports:
            self._serve(self._reports.popleft())
            served += 1
        return served

    def flush(self, timeout: float = -1) -> int:  # noqa: ARG002
        """Send and report all that can be sent now; returns how many records are left."""
        self.poll(0)
        return len(self)

    def purge(self) -> None:
        """Give up what waits; the next `poll` reports it so."""
        self._give_up()

    def break_down(self, error: KafkaError) -> None:
        """Let a fatal error end this producer: the next `poll` raises it, and nothing more is taken."""
        self._fatal = True
        self._reports.append(error)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:  # noqa: ARG002
        """Return what is known of one topic or of all. Raises KafkaException when no broker answers."""
        return self._kafka.describe(topic)

    def __len__(self) -> int:
        return self._open

    def _enqueue(self, sent: Outgoing) -> KafkaError | None:
        if self._fatal:
            return FATAL
        if sent.n_bytes > self._max_message_bytes:
            return TOO_LARGE
        if self._open >= self._max_messages or self._open_bytes + sent.n_bytes > self._max_queue_bytes:
            return QUEUE_FULL
        if sent.partition < 0:
            sent.partition = zlib.crc32(sent.key or b"") % len(self._kafka.topics[sent.topic])
        self._open += 1
        self._open_bytes += sent.n_bytes
        self._queues.setdefault((sent.topic, sent.partition), deque()).append(sent)
        return None

    def _transmit(self) -> None:
        with self._kafka.changed:
            for batch in self._batches():
                errors = self._refusals(batch)
                if any(errors) and self._gapless:
                    self.break_down(GAP)
                for sent, error in zip(batch, errors, strict=True):
                    self._reports.append((error, sent, None if error else self._written(sent).offset()))
            if self._fatal:
                self._give_up()

    def _batches(self) -> Iterator[list[Outgoing]]:
        """Take out of the queue what can leave, in batches of one partition."""
        for partition, queue in self._queues.items():
            while queue and not self._fatal and self._kafka.reachable and partition not in self._kafka.stalled:
                yield [queue.popleft() for _ in range(min(self._batch, len(queue)))]

    def _refusals(self, batch: list[Outgoing]) -> list[KafkaError | None]:
        limit = self._kafka.max_bytes.get(batch[0].topic)
        if limit is not None and sum(sent.n_bytes for sent in batch) > limit:
            return [TOO_LARGE] * len(batch)
        errors = [self._kafka.refuse(sent.as_message()) for sent in batch]
        first = next(filter(None, errors), None)
        if first is None:
            return errors
        # A broker names the records it finds invalid; of anything else it only says that the batch is refused.
        rest = OTHER_RECORD if first.code() == KafkaError.INVALID_RECORD else first
        return [error or rest for error in errors]

    def _written(self, sent: Outgoing) -> Message:
        place: Any = {"partition": sent.partition, "headers": sent.headers or None, "timestamp_ms": sent.timestamp_ms}
        return self._kafka.write(sent.topic, sent.value, sent.key, **place)

    def _give_up(self) -> None:
        for queue in self._queues.values():
            self._reports += [(PURGED, sent, None) for sent in queue]
            queue.clear()

    def _serve(self, report: tuple[KafkaError | None, Outgoing, int | None] | KafkaError) -> None:
        if isinstance(report, KafkaError):
            raise KafkaException(report)
        error, sent, offset = report
        try:
            if sent.on_delivery is not None:
                sent.on_delivery(error, sent.as_message(offset))
        finally:
            self._open -= 1
            self._open_bytes -= sent.n_bytes
