"""The delivery of one block of records: done when the broker has acknowledged every output it led to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pelton.schemas.records import Message, Records
from pelton.schemas.rejection import Rejection


class Ticket:
    """One block on its way: what became of its records, and the reports still awaited.

    A block may be sent more than once; `attempt` tells the reports of an earlier sending from those that count.
    """

    __slots__ = (
        "attempt",
        "awaited",
        "carried_bytes",
        "n_bytes",
        "n_outputs",
        "outcomes",
        "records",
        "refused",
        "tombstones",
    )

    def __init__(self, records: Records, outcomes: Sequence[Any], n_outputs: int, tombstones: int) -> None:
        self.records, self.outcomes = records, outcomes
        self.n_outputs, self.tombstones = n_outputs, tombstones
        self.attempt = self.carried_bytes = 0
        self.restart()

    @property
    def origin(self) -> tuple[str, int]:
        """The topic and partition that the block was read from."""
        return self.records.topic, self.records.partition

    @property
    def next_offset(self) -> int:
        """The offset to read next once the block is safe."""
        return self.records.offsets[-1] + 1

    def restart(self) -> None:
        """Forget what was sent: the block is sent again from its first record."""
        self.attempt += 1
        self.awaited = self.n_bytes = 0
        self.refused: dict[str, int] = {}

    def replace(self, message: Message, rejection: Rejection) -> None:
        """Let a record have another outcome when the block is sent again."""
        outcomes = list(self.outcomes)
        outcomes[self.records.messages.index(message)] = rejection
        self.outcomes = outcomes

    def message_of(self, offset: int) -> Message:
        """Return the polled message at an offset."""
        return self.records.messages[self.records.offsets.index(offset)]

    def tombstone_of(self, key: bytes | None) -> Message:
        """Return the first polled null value under a key."""
        return next(message for message in self.records.messages if message.value() is None and message.key() == key)


@dataclass(frozen=True, slots=True)
class Settled:
    """A block whose every outcome is safe at the broker; `refused` counts its dead letters by code."""

    records: Records
    refused: dict[str, int]
    tombstones: int


def in_pieces(records: Records, outcomes: Sequence[Any], most: int) -> Iterator[tuple[Records, Sequence[Any]]]:
    """Yield a block and its outcomes in pieces of `most` records at most, in order."""
    while len(records) > most:
        head, records = records.split(most)
        yield head, outcomes[: len(head)]
        outcomes = outcomes[len(head) :]
    yield records, outcomes
