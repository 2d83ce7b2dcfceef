"""Read topics from a chosen place, outside any consumer group, committed records only."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from pelton import topics
from pelton.errors import KafkaFailure, TopicMissing
from pelton.kafka_errors import failure
from pelton.silent_log import silent_log

_silent = silent_log("pelton.topic_reader.librdkafka")


class TopicReader:
    """Reads every partition of some topics.

    `last` is how many records before its end reading starts in each partition; None is its beginning. Nothing
    is committed and no group is joined. Raises BrokerUnavailable, TopicMissing, AccessDenied or KafkaFailure.
    """

    def __init__(
        self, kafka: Mapping[str, Any], names: Iterable[str], last: int | None = None, timeout_s: float = 10.0
    ) -> None:
        names = list(names)
        counts = topics.describe(kafka, names, timeout_s)
        if missing := sorted(set(names) - set(counts)):
            raise TopicMissing(f"no topic {', '.join(missing)} at {kafka.get('bootstrap.servers', '')}")
        self._timeout_s = timeout_s
        self._consumer = Consumer({**kafka, **_READING}, logger=_silent)
        partitions = [(name, number) for name, count in counts.items() for number in range(count)]
        try:
            starts = [TopicPartition(*partition, self._start(*partition, last)) for partition in partitions]
            self._consumer.assign(starts)
        except KafkaException as error:
            self.close()
            raise failure(error) from error
        self._partitions = partitions
        self._unread = set(partitions)

    def _start(self, name: str, number: int, last: int | None) -> int:
        if not last:
            return OFFSET_BEGINNING if last is None else OFFSET_END
        low, end = self._consumer.get_watermark_offsets(TopicPartition(name, number), timeout=self._timeout_s)
        return max(low, end - last)

    @property
    def at_end(self) -> bool:
        """Tell whether the end of every partition was reached since the last record came."""
        return not self._unread

    def look_again(self) -> None:
        """Ask the broker where each partition ends now: `at_end` is true once all of that is read."""
        reached = self._consumer.position([TopicPartition(*partition) for partition in self._partitions])
        for place in reached:
            low, end = self._consumer.get_watermark_offsets(place, timeout=self._timeout_s)
            if end > max(place.offset, low):
                self._unread.add((place.topic, place.partition))

    def read(self, most: int = 1000, timeout_s: float = 0.1) -> list[Message]:
        """Return up to `most` records, fewer or none after `timeout_s` seconds."""
        records = []
        for message in self._consumer.consume(most, timeout_s):
            if error := message.error():
                self._note(error, message)
            else:
                self._unread.add((message.topic() or "", message.partition() or 0))
                records.append(message)
        return records

    def _note(self, error: KafkaError, message: Message) -> None:
        if error.name() == "_PARTITION_EOF":
            self._unread.discard((message.topic() or "", message.partition() or 0))
            return
        ours: KafkaFailure = failure(error)
        if not ours.retriable or isinstance(ours, TopicMissing):
            raise ours

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


_READING: Mapping[str, Any] = {
    # A group id must be there; without a subscription or a commit no group comes into being.
    "group.id": "pelton-reader",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 100,
}
