"""How far a worker is behind, asked of the broker by a client of its own."""

from concurrent.futures import wait
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from pelton.consumers.assignment import Partition
from pelton.kafka_errors import failure


class Lag:
    """Fresh ends and starts of partitions, up to the last stable offset.

    Not the consumer's own: its calls exclude each other over threads, and one that waits for the broker behind a long
    fetch holds up polling for as long (see DESIGN.md, "Non-obvious").
    """

    def __init__(self, properties: dict[str, Any]) -> None:
        self._admin = AdminClient(properties)

    def records(self, positions: dict[Partition, int], timeout_s: float) -> dict[Partition, int]:
        """Return the records of each partition behind a position, never negative.

        Raises KafkaFailure when the broker refuses or does not answer in time.
        """
        if not positions:
            return {}
        ends = self._offsets(positions, OffsetSpec.latest(), timeout_s)  # type: ignore[no-untyped-call]
        starts = self._offsets(positions, OffsetSpec.earliest(), timeout_s)  # type: ignore[no-untyped-call]
        return {
            partition: max(0, ends[partition] - max(position, starts[partition]))
            for partition, position in positions.items()
            if partition in ends and partition in starts
        }

    def _offsets(self, wanted: dict[Partition, int], spec: OffsetSpec, timeout_s: float) -> dict[Partition, int]:
        futures = self._admin.list_offsets(
            {TopicPartition(topic, number): spec for topic, number in wanted},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=timeout_s,
        )
        wait(futures.values(), timeout_s)
        try:
            return {
                (asked.topic, asked.partition): future.result(timeout=0).offset for asked, future in futures.items()
            }
        except KafkaException as error:
            raise failure(error) from error
        except TimeoutError as error:
            raise failure(KafkaException(str(error))) from error
