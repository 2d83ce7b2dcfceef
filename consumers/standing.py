"""Under which name the group knows this member, and whether that is still the one its partitions were given to."""

from typing import Any

from confluent_kafka import Consumer

from pelton.consumers.assignment import Assignment
from pelton.errors import KafkaFailure


class Standing:
    """Compares the member's id with the one it had when the first of its partitions came.

    A member that is given up in the middle of a rebalance may be let in again under a new id while its client keeps
    the partitions (librdkafka 2.16), though others have worked on them since. It must neither commit nor go on.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._name = self._seen = ""

    def look(self, consumer: Consumer) -> None:
        """Take note of the member's id; with partitions in hand only the one that they came under counts."""
        self._seen = consumer.memberid() or ""
        if not (self._name and self._assignment.partitions):
            self._name = self._seen

    def metadata(self, consumer: Consumer) -> Any:
        """Return the group metadata to commit with, None while there are none that hold for the partitions in hand.

        Without an id they would be taken from anybody: it was looked at before, and is again afterwards.
        """
        member = consumer.consumer_group_metadata()
        return member if self._seen and self._seen == consumer.memberid() and self.holds(self._seen) else None

    def forget(self) -> None:
        """Begin anew: all partitions were lost."""
        self._name = ""

    def holds(self, name: str | None) -> bool:
        """Tell whether a member of this id may commit for the partitions in hand; between two sessions it has none."""
        return not self._name or name == self._name

    def check(self) -> None:
        """Raise KafkaFailure when the group has let the member in anew, and its partitions have not been taken away."""
        if self._seen and not self.holds(self._seen):
            raise KafkaFailure("the group gave this member up and let it in anew, with partitions it had before")
