"""How far a worker is behind, asked of the broker by clients of its own."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from pelton.consumers.assignment import Partition
from pelton.consumers.lookout import READING, Ahead, Lookout
from pelton.consumers.offsets import Reached
from pelton.deadline import Deadline
from pelton.kafka_errors import failure

METADATA_MS = 5_000
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Behind:
    """How far behind a partition is: offsets from its first record without an outcome to the end.

    `reached` is that record's offset, or the end; `oldest_ms` its Kafka timestamp, None for none or an unknown one.
    """

    records: int
    reached: int
    end: int
    oldest_ms: int | None = None

    @property
    def oldest_s(self) -> float | None:
        """The age of the oldest record by our clock, 0 where nothing is left, None while it is unknown."""
        return age_s(self.oldest_ms) if self.records else 0.0


def age_s(time_ms: int | None) -> float | None:
    """Return how long ago a record was stamped; a clock that runs ahead of ours makes no age negative."""
    return None if time_ms is None else max(0.0, time.time() - time_ms / 1000)


class Lag:
    """Fresh ends and starts of partitions, up to the last stable offset, and the time of the next record.

    Not the consumer's own: its calls exclude each other over threads, and one that waits for the broker behind a long
    fetch holds up polling for as long (see DESIGN.md, "Non-obvious"). The member made here never joins the group.
    """

    def __init__(self, properties: dict[str, Any], group: str, reset: str) -> None:
        # What it knows of a partition's leader it believes for so long, and after a restart of the broker in vain.
        self._admin = AdminClient({"metadata.max.age.ms": METADATA_MS, **properties})
        self._consumer = Consumer({**properties, **READING, "group.id": group})
        self._lookout = Lookout(self._consumer)
        self._reset = reset

    def behind(self, stands: Mapping[Partition, Reached], timeout_s: float) -> dict[Partition, Behind]:
        """Return how far behind each partition is, never negative; one that does not exist any more is left out.

        Where nothing was read yet: from the committed offset, else from where the group begins. Where the worker holds
        nothing and the end is ahead, the next record is read: there may be none. Raises KafkaFailure when the broker
        refuses or does not answer in time.
        """
        if not stands:
            return {}
        deadline = Deadline.after(timeout_s)
        committed = self._committed([at for at, stand in stands.items() if stand.offset is None], deadline)
        ends = offsets_of(self._admin, stands, "latest", deadline)
        starts = offsets_of(self._admin, ends, "earliest", deadline)
        stands = {at: stand for at, stand in stands.items() if at in starts}
        begins = starts if self._reset == "earliest" else ends
        committed = within_log(self._admin, committed, ends, deadline)
        reached = {
            at: max(committed.get(at, begins[at]) if stand.offset is None else stand.offset, starts[at])
            for at, stand in stands.items()
        }
        reached |= {at: self._lookout.passed(at, reached[at], ends[at]) for at in stands if not stands[at].in_hand}
        aheads = self._ahead({at: reached[at] for at in stands if not stands[at].in_hand}, ends, deadline)
        return {at: _behind(stand, reached[at], ends[at], aheads.get(at)) for at, stand in stands.items()}

    def _ahead(
        self, reached: Mapping[Partition, int], ends: Mapping[Partition, int], by: Deadline
    ) -> dict[Partition, Ahead]:
        """Return the next records; one that does not come in time makes nobody wait, and is counted unseen."""
        try:
            return self._lookout.look(reached, ends, Deadline.after(min(LOOK_S, by.remaining_s())))
        except KafkaException as error:
            raise failure(error) from error

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


def _behind(stand: Reached, reached: int, end: int, ahead: Ahead | None) -> Behind:
    if stand.in_hand:
        # History that was deleted meanwhile is not unread any more, but what is in hand is still to be done.
        return Behind(max(stand.in_hand, end - reached), min(reached, end), end, stand.time_ms)
    if reached >= end or (ahead is not None and ahead.offset is None):
        return Behind(0, max(reached, end), end)
    if ahead is None:
        return Behind(end - reached, reached, end)
    return Behind(end - (ahead.offset or 0), ahead.offset or 0, end, ahead.time_ms)


def within_log(
    admin: AdminClient, committed: Mapping[Partition, int], ends: Mapping[Partition, int], deadline: Deadline
) -> dict[Partition, int]:
    """Return the commits less those beyond the log, of a topic made anew: such a group begins as one without a commit.

    One beyond `ends` alone may stand among what an open transaction hides. Raises KafkaFailure as `offsets_of` does.
    """
    beyond = [at for at, offset in committed.items() if at in ends and offset > ends[at]]
    last = offsets_of(admin, beyond, "latest", deadline, IsolationLevel.READ_UNCOMMITTED)
    return {at: offset for at, offset in committed.items() if at not in beyond or offset <= last.get(at, 0)}


def offsets_of(
    admin: AdminClient,
    wanted: Iterable[Partition],
    which: Literal["earliest", "latest"],
    deadline: Deadline,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> dict[Partition, int]:
    """Return the first offset of each partition, or its end for such a reader, asked for afresh.

    A partition that does not exist is left out. Raises KafkaFailure when the broker refuses or does not answer in time.
    """
    asked = [TopicPartition(topic, number) for topic, number in wanted]
    if not asked:
        return {}
    spec = OffsetSpec.latest() if which == "latest" else OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    futures = admin.list_offsets(
        dict.fromkeys(asked, spec),
        isolation_level=isolation,
        request_timeout=max(0.01, deadline.remaining_s()),
    )
    wait(futures.values(), deadline.remaining_s())
    found = {(at.topic, at.partition): _offset(future) for at, future in futures.items()}
    return {at: offset for at, offset in found.items() if offset is not None}


def _offset(future: "Future[Any]") -> int | None:
    try:
        return int(future.result(timeout=0).offset)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        raise failure(error) from error
    except TimeoutError as error:
        raise failure(KafkaException(str(error))) from error
