"""Scores as Kafka messages: key, value, partition, headers and time stamp by the settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from pelton.producers.admission import Admission
from pelton.producers.channel import Channel
from pelton.schemas.identity import event_ids, event_times
from pelton.schemas.records import Message, Records
from pelton.schemas.score import ScoreEncoder
from pelton.schemas.topic_limits import ANYTHING, TopicLimits

Header = tuple[str, str | bytes | None]
Report = Callable[[KafkaError | None, Any], None]


@dataclass(frozen=True, slots=True)
class OutputRules:
    """How scores are addressed; `key`, `partition` and `timestamp` are those of the stream's settings.

    `max_bytes` is the client's bound on a message, `limits` are the topic's own.
    """

    topic: str
    n_partitions: int
    key: str = "event-id"
    partition: str = "source"
    timestamp: str = "producer"
    tombstones: str = "skip"
    forward_headers: frozenset[str] = frozenset()
    max_bytes: int = 1_000_000
    limits: TopicLimits = ANYTHING
    id_attribute: str | None = None
    time_attribute: str | None = None


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A message the producer did not even take, in the shape of a delivery report."""

    name: str
    content: bytes | None
    own_key: bytes | None = None

    def topic(self) -> str:
        """Return the topic it was for."""
        return self.name

    def value(self) -> bytes | None:
        """Return its value."""
        return self.content

    def key(self) -> bytes | None:
        """Return its key."""
        return self.own_key


class Outputs:
    """Turns the scores of one block into messages of the sink.

    Order per input key holds in the sink: by default a source partition has one sink partition, and blocks are
    produced in offset order. A block without headers leaves in one call, at half the cost of a call a record.
    """

    def __init__(self, rules: OutputRules, encoder: ScoreEncoder) -> None:
        self.rules = rules
        self._encoder = encoder
        self._admission = Admission(rules.limits, rules.max_bytes, event_time=rules.timestamp == "event")

    def encode(self, records: Records, scores: Sequence[Any]) -> tuple[list[Any], list[bytes | None]]:
        """Return the values and the keys of a block's scores; a value may be a `Rejection` instead."""
        ids = event_ids(records, self.rules.id_attribute)
        times = event_times(records, self.rules.time_attribute)
        values, keys = self._encoder.encode(records, ids, scores, times), self._keys(records, ids)
        return self._admission.judge(records, values, keys), keys

    def produce(
        self, channel: Channel, records: Records, values: list[bytes], keys: list[bytes | None], report: Report
    ) -> None:
        """Produce one message a value, in order.

        `report` is the callback of each message when the channel reports each, else of the last one.
        """
        headers = self._headers(records) if self.rules.forward_headers else None
        if headers or self.rules.timestamp == "event":
            self._produce_singly(channel, records, values, keys, headers, report)
            return
        messages: list[dict[str, Any]] = [{"value": value, "key": key} for value, key in zip(values, keys, strict=True)]
        if not channel.reports_each:
            messages[-1]["callback"] = report
        callback = {"on_delivery": report} if channel.reports_each else {}
        taken = channel.producer.produce_batch(
            self.rules.topic, messages, partition=self.partition(records), **callback
        )
        if taken != len(messages):
            for message in messages:
                if "_error" in message:
                    report(message["_error"], NotTaken(self.rules.topic, message["value"], message["key"]))

    def produce_tombstone(self, channel: Channel, records: Records, row: int, report: Report) -> None:
        """Pass a deletion marker on under its input key."""
        key = records.messages[row].key()
        self._produce_one(channel, None, key, self.partition(records), report, 0, [], wanted=True)

    def partition(self, records: Records) -> int:
        """Return the sink partition of a block, or -1 where the key decides."""
        return -1 if self.rules.partition == "key" else records.partition % self.rules.n_partitions

    def _keys(self, records: Records, ids: list[str]) -> list[bytes | None]:
        if self.rules.key == "event-id":
            return [event_id.encode() for event_id in ids]
        if self.rules.key == "position":
            prefix = f"{records.topic}/{records.partition}/"
            return [f"{prefix}{offset}".encode() for offset in records.offsets]
        return [message.key() for message in records.messages]

    def _headers(self, records: Records) -> list[list[Header]] | None:
        try:
            given = [message.headers() for message in records.messages]
        except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
            given = [_readable_headers(message) for message in records.messages]
        if not any(given):
            return None
        wanted = self.rules.forward_headers
        chosen = [[header for header in headers or () if header[0] in wanted] for headers in given]
        return chosen if any(chosen) else None

    def _timestamps(self, records: Records) -> list[int]:
        if self.rules.timestamp != "event":
            return [0] * len(records)
        return [max(0, message.timestamp()[1]) for message in records.messages]

    def _produce_singly(
        self,
        channel: Channel,
        records: Records,
        values: list[bytes],
        keys: list[bytes | None],
        headers: list[list[Header]] | None,
        report: Report,
    ) -> None:
        partition, last = self.partition(records), len(values) - 1
        rows = zip(values, keys, headers or [[]] * len(values), self._timestamps(records), strict=True)
        for i, (value, key, own_headers, timestamp) in enumerate(rows):
            wanted = channel.reports_each or i == last
            self._produce_one(channel, value, key, partition, report, timestamp, own_headers, wanted=wanted)

    def _produce_one(
        self,
        channel: Channel,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        report: Report,
        timestamp: int,
        headers: list[Header],
        *,
        wanted: bool,
    ) -> None:
        try:
            channel.producer.produce(
                self.rules.topic,
                value,
                key,
                partition,
                on_delivery=report if wanted else None,
                timestamp=timestamp,
                headers=headers,
            )
        except KafkaException as error:
            report(error.args[0], NotTaken(self.rules.topic, value, key))


def _readable_headers(message: Message) -> list[Header]:
    try:
        return message.headers() or []
    except Exception:  # noqa: BLE001 - see above: this message alone loses its headers
        return []
