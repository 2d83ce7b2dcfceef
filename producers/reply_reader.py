"""Replies in: one partition of the reply topic, read by this client alone, outside any group."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, ClientClosed, KafkaFailure, SettingsError, TopicMissing
from pelton.kafka_errors import FATAL, ErrorLog, failure, of_settings
from pelton.producers.request_sender import librdkafka_log
from pelton.schemas.headers import CORRELATION_ID

MOST_AT_ONCE = 500

_DEFAULTS: Mapping[str, Any] = {
    "socket.nagle.disable": True,
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.queue.backoff.ms": 20,
    # Whoever waits is to hear soon that the topic is gone, not after half a minute.
    "topic.metadata.propagation.max.ms": 5_000,
}
_PROMISED: Mapping[str, Any] = {
    # A group id must be there; without a subscription or a commit no group comes into being.
    "group.id": "pelton-caller",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": False,
    # Replies may leave outside of any transaction, and those within one are of use once it is committed.
    "isolation.level": "read_committed",
    # If the place read next is gone, what is still there may be our answers.
    "auto.offset.reset": "earliest",
    "logger": librdkafka_log,
}


class ReplyReader:
    """Reads what comes after its start; for one thread."""

    def __init__(
        self,
        properties: Mapping[str, Any],
        topic: str,
        make_consumer: Callable[[dict[str, Any]], Consumer] = Consumer,
    ) -> None:
        self._topic = topic
        self._errors = ErrorLog("caller's consumer")
        # A batch of messages holds no errors, not even those of its partition: the client hands them to this callback.
        config = {**_DEFAULTS, **properties, **_PROMISED, "error_cb": self._judge}
        with of_settings():
            self._consumer = make_consumer(config)
        self._failure: KafkaFailure | None = None
        self.partition = -1
        self.dead = False
        """Whether nothing will come any more, whatever anybody does."""

    def start(self, n_partitions: int, wanted: int | None, deadline: Deadline) -> None:
        """Take a place at the end of a partition: the wanted one, or one drawn by lot.

        Raises SettingsError when the topic has no such partition, BrokerUnavailable and other KafkaFailures.
        """
        if wanted is not None and wanted >= n_partitions:
            raise SettingsError(f"reply_partition: {self._topic} has {n_partitions} partitions, and none is {wanted}")
        self.partition = secrets.randbelow(n_partitions) if wanted is None else wanted
        place = TopicPartition(self._topic, self.partition)
        try:
            ends = self._consumer.get_watermark_offsets(place, timeout=max(0.1, deadline.remaining_s()))
            if ends is None:
                raise BrokerUnavailable(f"no answer where {self._topic}/{self.partition} ends")
            # By number: what is answered from now on lies there or further on, whenever it is fetched.
            self._consumer.assign([TopicPartition(self._topic, self.partition, ends[1])])
        except KafkaException as refused:
            raise failure(refused) from refused
        except RuntimeError as closed:  # what a consumer that is closed says to everything
            raise ClientClosed("the client was closed while it started") from closed

    def read(self, timeout_s: float) -> list[tuple[bytes | None, Message]]:
        """Return replies with their correlation ids, as many as are there, or none after `timeout_s` seconds.

        Raises KafkaFailure when nothing will come any more until somebody does something about it.
        """
        if failed := self._failure:
            self._failure = None
            raise failed
        messages = self._consumer.consume(1, timeout_s)
        if messages:
            messages += self._consumer.consume(MOST_AT_ONCE, 0)
        replies = []
        for message in messages:
            if (error := message.error()) is None:
                replies.append((_correlation_id(message), message))
            else:
                self._judge(error)
        return replies

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def _judge(self, error: KafkaError) -> None:
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return  # the group is a name only
        ours: KafkaFailure = failure(error)
        self.dead = self.dead or error.fatal() or error.code() == FATAL
        if self.dead or isinstance(ours, (TopicMissing, AccessDenied)):
            self._failure = ours  # told by the next call: what came along with it is read first
        else:
            self._errors.warn(error)


def _correlation_id(message: Message) -> bytes | None:
    try:
        found: bytes | None = dict(message.headers() or ()).get(CORRELATION_ID)  # type: ignore[assignment]
        return found
    except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
        return None
