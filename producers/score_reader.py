"""Read the scores in a sink topic, each once."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from pydantic import ConfigDict, ValidationError

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, ClientClosed, KafkaFailure, SettingsError, TopicMissing
from pelton.kafka_errors import Complaints, ErrorLog, failure, of_settings
from pelton.producers.call_options import connection
from pelton.producers.request_sender import librdkafka_log
from pelton.schemas.score import Score

AT_ONCE = 1000
WAIT_S = 0.1
LOOK_EVERY_S = 30.0
ANSWER_S = 2.0
REMEMBERED = 1_000_000

_DEFAULTS: Mapping[str, Any] = {"topic.metadata.propagation.max.ms": 5_000}
_PROMISED: Mapping[str, Any] = {
    # A group id must be there; without a subscription or a commit no group comes into being.
    "group.id": "pelton-reader",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "logger": librdkafka_log,
}


class _AnyScore(Score):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a later version may write more


class ReadScore(NamedTuple):
    """A score, and the record that holds it."""

    score: Score
    key: bytes | None
    partition: int
    offset: int


class ScoreReader:
    """Iterates over the scores of a sink topic: committed ones, and none twice.

    `kafka` is bootstrap addresses or librdkafka properties. Reading begins at the beginning and ends where the topic
    ends now, or with `follow` never; with `start="end"` it is what comes from now on. Nothing is committed and no group
    is joined. A reader that follows looks for added partitions every half minute, and reads them from their beginning.

    After a crash a worker may write scores again. `unique="key"` leaves out what has the key of an earlier score:
    right unless the sink is keyed by entity (`stream.key: input-key`); then `unique="source"` goes by the record that
    was scored. None leaves out nothing. Of a million scores it is remembered which they were.

        with ScoreReader("127.0.0.1:9092", "payment-scores") as reader:
            risks = {read.score.event_id: read.score.score for read in reader}

    Raises TopicMissing, BrokerUnavailable after `timeout_s` seconds, AccessDenied, and SettingsError for another word.
    """

    def __init__(
        self,
        kafka: str | Mapping[str, Any],
        topic: str,
        *,
        start: Literal["beginning", "end"] = "beginning",
        follow: bool = False,
        unique: Literal["key", "source"] | None = "key",
        timeout_s: float = 10.0,
        make_consumer: Callable[[dict[str, Any]], Consumer] = Consumer,
    ) -> None:
        if start not in ("beginning", "end") or unique not in ("key", "source", None):
            raise SettingsError(f"start={start!r}, unique={unique!r}: one of them is none of its words")
        self._topic, self._follow, self._unique = topic, follow or start == "end", unique
        self._errors = ErrorLog("score reader")
        self._seen: dict[Hashable, None] = {}
        self.repeated = 0
        """Scores left out because they were there before."""
        self.unreadable = 0
        """Records that hold no score."""
        self._failure: KafkaFailure | None = None
        self._complaints = Complaints()
        with of_settings():
            self._consumer = make_consumer({**_DEFAULTS, **connection(kafka), **_PROMISED, "error_cb": self._judge})
        self._n_partitions, self._look_due = 0, Deadline.after(LOOK_EVERY_S)
        try:
            self._left = self._assign(start, Deadline.after(timeout_s))
        except KafkaException as refused:
            self.close()
            raise failure(refused) from refused
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[ReadScore]:
        """Yield scores in the order of each partition; raises KafkaFailure or ClientClosed when no more can be read."""
        while self._follow or self._left:
            for message in self._consume():
                if error := message.error():
                    self._judge(error)
                elif read := self._read(message):
                    yield read
            if self._failure is not None:
                raise self._failure
            self._note_ends()
            if self._follow and self._look_due.expired:
                self._look_for_partitions()

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _consume(self) -> list[Message]:
        try:
            return self._consumer.consume(AT_ONCE, WAIT_S)
        except RuntimeError as closed:
            raise ClientClosed("the reader is closed") from closed

    def _assign(self, start: str, deadline: Deadline) -> dict[int, int]:
        """Begin reading every partition; return where each ends that has something to read."""
        ask = self._complaints.ask
        self._n_partitions = ask(self._count_partitions, lambda: self._consumer.consume(1, 0), deadline)
        places, left = [], {}
        for number in range(self._n_partitions):
            asked = TopicPartition(self._topic, number)
            ends = self._consumer.get_watermark_offsets(asked, timeout=max(0.1, deadline.remaining_s()))
            if ends is None:
                raise BrokerUnavailable(f"no answer where {self._topic}/{number} ends")
            low, high = ends
            places.append(TopicPartition(self._topic, number, high if start == "end" else low))
            if start == "beginning" and high > low:
                left[number] = high
        self._consumer.assign(places)
        return left

    def _count_partitions(self, timeout_s: float) -> int:
        found = self._consumer.list_topics(self._topic, timeout=timeout_s).topics[self._topic]
        if found.error is not None:
            raise type(failure(found.error))(f"{self._topic}: {found.error.str()}")
        return len(found.partitions)

    def _look_for_partitions(self) -> None:
        """Read what was added since the last look; a broker that does not answer is asked the next time."""
        self._look_due = Deadline.after(LOOK_EVERY_S)
        with suppress(KafkaException, KafkaFailure):
            known, self._n_partitions = self._n_partitions, self._count_partitions(ANSWER_S)
            added = range(known, self._n_partitions)
            self._consumer.incremental_assign([TopicPartition(self._topic, n, OFFSET_BEGINNING) for n in added])

    def _judge(self, error: KafkaError) -> None:
        """Note what ends the reading; called with most errors by the client itself, while it is asked for records."""
        ours = failure(error)
        self._complaints.note(error)
        if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            return  # the group is a name only
        if error.fatal() or isinstance(ours, (TopicMissing, AccessDenied)):
            self._failure = ours
        else:
            self._errors.warn(error)

    def _read(self, message: Message) -> ReadScore | None:
        try:
            score = _AnyScore.model_validate_json(message.value() or b"")
        except ValidationError:
            self.unreadable += 1
            return None
        if self._is_repeat(score, message):
            self.repeated += 1
            return None
        return ReadScore(score, message.key(), message.partition() or 0, message.offset() or 0)

    def _is_repeat(self, score: Score, message: Message) -> bool:
        source = score.source
        mark = message.key() if self._unique == "key" else (source.topic, source.partition, source.offset)
        if self._unique is None or mark is None:
            return False
        if mark in self._seen:
            return True
        self._seen[mark] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    def _note_ends(self) -> None:
        """Forget the partitions read to where they ended; the position is past what is no record, too."""
        if self._left:
            reached = self._consumer.position([TopicPartition(self._topic, number) for number in self._left])
            self._left = {at.partition: end for at in reached if at.offset < (end := self._left[at.partition])}
