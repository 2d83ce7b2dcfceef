"""How far a worker is behind, asked of the broker by a client of its own."""

from collections.abc import Iterable, Mapping
from concurrent.futures import wait
from typing import Any, Literal

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from pelton.consumers.assignment import Partition
from pelton.deadline import Deadline
from pelton.kafka_errors import failure

METADATA_MS = 5_000


class Lag:
    """Fresh ends and starts of partitions, up to the last stable offset.

    Not the consumer's own: its calls exclude each other over threads, and one that waits for the broker behind a long
    fetch holds up polling for as long (see DESIGN.md, "Non-obvious"). The member made here never joins the group.
    """

    def __init__(self, properties: dict[str, Any], group: str, reset: str) -> None:
        # What it knows of a partition's leader it believes for so long, and after a restart of the broker in vain.
        self._admin = AdminClient({"metadata.max.age.ms": METADATA_MS, **properties})
        self._consumer = Consumer({**properties, "group.id": group, "enable.auto.commit": False})
        self._reset = reset

    def records(self, positions: Mapping[Partition, int | None], timeout_s: float) -> dict[Partition, int]:
        """Return the records of each partition behind a position, never negative.

        Where nothing was read yet, the position is None: then behind the committed offset, else from where the group
        begins. Raises KafkaFailure when the broker refuses or does not answer in time.
        """
        if not positions:
            return {}
        deadline = Deadline.after(timeout_s)
        committed = self._committed([at for at, position in positions.items() if position is None], deadline)
        ends = offsets_of(self._admin, positions, "latest", deadline)
        starts = offsets_of(self._admin, positions, "earliest", deadline)
        begins = starts if self._reset == "earliest" else ends
        found: dict[Partition, int] = {}
        for at, position in positions.items():
            reached = committed.get(at, begins[at]) if position is None else position
            found[at] = max(0, ends[at] - max(reached, starts[at]))
        return found

    def _committed(self, wanted: list[Partition], deadline: Deadline) -> dict[Partition, int]:
        if not wanted:
            return {}
        try:
            told = self._consumer.committed([TopicPartition(*at) for at in wanted], timeout=deadline.remaining_s())
        except KafkaException as error:
            raise failure(error) from error
        if refused := [at.error for at in told if at.error is not None]:
            raise failure(refused[0])
        return {(at.topic, at.partition): at.offset for at in told if at.offset >= 0}


def offsets_of(
    admin: AdminClient, wanted: Iterable[Partition], which: Literal["earliest", "latest"], deadline: Deadline
) -> dict[Partition, int]:
    """Return the first offset of each partition, or its end for a reader of committed records, asked for afresh.

    Raises KafkaFailure when the broker refuses or does not answer in time.
    """
    spec = OffsetSpec.latest() if which == "latest" else OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    futures = admin.list_offsets(
        {TopicPartition(topic, number): spec for topic, number in wanted},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=max(0.01, deadline.remaining_s()),
    )
    wait(futures.values(), deadline.remaining_s())
    try:
        return {(asked.topic, asked.partition): future.result(timeout=0).offset for asked, future in futures.items()}
    except KafkaException as error:
        raise failure(error) from error
    except TimeoutError as error:
        raise failure(KafkaException(str(error))) from error
