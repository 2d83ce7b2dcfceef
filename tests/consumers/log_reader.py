"""A consumer that is assigned places in logs with holes, and tells of each end once, as librdkafka does."""

from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, KafkaError, Message, TopicPartition

from pelton.consumers.assignment import Partition


class LogReader:
    """`logs[at]` maps the offsets of the records that can be read to their time in ms; behind them is the end."""

    def __init__(self, logs: dict[Partition, dict[int, int | None]]) -> None:
        self.logs = logs
        self.assigned: list[dict[Partition, int]] = []
        self.held: dict[Partition, int] = {}
        self.commits: dict[Partition, int] = {}
        self.error: KafkaError | None = None
        self.silent: set[Partition] = set()

    def incremental_assign(self, places: list[TopicPartition]) -> None:
        given = {(at.topic, at.partition): at.offset for at in places}
        assert not given.keys() & self.held.keys(), "librdkafka takes none that is assigned already"
        self.held |= given
        self.assigned.append(given)

    def unassign(self) -> None:
        self.held = {}

    def incremental_unassign(self, places: list[TopicPartition]) -> None:
        for at in places:
            self.held.pop((at.topic, at.partition))

    def committed(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        places = [(at.topic, at.partition) for at in wanted]
        return [TopicPartition(*at, self.commits.get(at, -1001)) for at in places]

    def consume(self, n: int, _timeout_s: float) -> list[Message]:
        return [self._next(at) for at in sorted(set(self.held) - self.silent)][:n]

    def _next(self, at: Partition) -> Message:
        place: dict[str, Any] = {"topic": at[0], "partition": at[1]}
        if self.error is not None:
            return Message(**place, error=self.error)
        left = [offset for offset in sorted(self.logs[at]) if offset >= self.held[at]]
        if not left:
            return Message(**place, error=KafkaError(KafkaError._PARTITION_EOF))
        time_ms = self.logs[at][left[0]]
        kind = TIMESTAMP_NOT_AVAILABLE if time_ms is None else TIMESTAMP_CREATE_TIME
        return Message(**place, offset=left[0], timestamp=(kind, time_ms or 0))
