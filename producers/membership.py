"""What a transaction asks of the group in whose name it commits offsets."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from pelton.schemas.records import Records

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Membership:
    """The consumer's side of a transaction, as calls that any thread may make.

    `owns` tells whether records belong to the present assignment. `member` returns the group metadata as of the last
    poll, None while the group does not know the member: metadata fetched at commit would commit for a partition that
    had moved already. `notes` returns the metadata beside offsets. `committed` asks the broker for the group's
    offsets, waits for pending transactions, and raises KafkaFailure.
    """

    owns: Callable[[Records], bool]
    member: Callable[[], Any]
    notes: Callable[[Mapping[Partition, int]], Mapping[Partition, str]]
    committed: Callable[[Iterable[Partition], float], Mapping[Partition, int]]

    def positions(self, offsets: Mapping[Partition, int]) -> list[TopicPartition]:
        """Return next offsets to read in the shape of a commit, each with its note if it has one."""
        notes = self.notes(offsets)
        return [TopicPartition(*where, offset, notes.get(where, "")) for where, offset in offsets.items()]
