"""Consumer groups in memory: who is a member, and since which generation."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import KafkaError

GENERATION = KafkaError(
    KafkaError.ILLEGAL_GENERATION, "Broker: Specified group generation id is not valid", txn_requires_abort=True
)
PENDING = KafkaError(KafkaError._TIMED_OUT, "Local: Timed out")  # noqa: SLF001 - librdkafka's own codes begin so
PENDING = KafkaError(KafkaError._TIMED_OUT, "Local: Timed out")  # noqa: SLF001 - librdkafka's own codes begin so
NOT_A_MEMBER = KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "Broker: Unknown member", txn_requires_abort=True)


class Answer(NamedTuple):
    """What a commit came to for one partition, in the shape of a `TopicPartition`, whose error nobody can set."""

    topic: str
    partition: int
    offset: int
    error: KafkaError | None


@dataclass(frozen=True, slots=True)
class FakeGroupMetadata:
    """What a consumer hands to a producer, to be checked by the group when offsets are sent."""

    group: str
    generation: int
    member_id: str


class FakeGroups:
    """Generations and members of every group.

    A consumer's metadata always tell the newest generation, as the real client follows its group in the background:
    so they are worth no more than the moment at which they were taken.
    """

    def __init__(self) -> None:
        self._generations: Counter[str] = Counter()
        self._members: set[tuple[str, str]] = set()
        self._n_joined = 0

    def move(self, group: str) -> None:
        """Let the group go on to another generation, before any member has been told in a poll."""
        self._generations[group] += 1

    def follow(self, group: str, member_id: str, *, lost: bool) -> str:
        """Let a member be told of a rebalance, and return its id; one that is lost has none until the next."""
        self.move(group)
        if lost:
            self._members.discard((group, member_id))
            return ""
        if (group, member_id) not in self._members:
            self._n_joined += 1
            member_id = f"member-{self._n_joined}"
            self._members.add((group, member_id))
        return member_id

    def metadata(self, group: str, member_id: str) -> FakeGroupMetadata:
        """Return a member's metadata as of now; one that has no id can be anybody."""
        generation = self._generations[group] if member_id else -1
        return FakeGroupMetadata(group, generation, member_id)

    def refusal(self, metadata: Any) -> KafkaError | None:
        """Say why offsets are not taken in the name of a member; without an id, they are taken from anybody."""
        if not metadata.member_id:
            return None
        if (metadata.group, metadata.member_id) not in self._members:
            return NOT_A_MEMBER
        return GENERATION if metadata.generation != self._generations[metadata.group] else None
