"""What a group has committed, asked by a client that joins nothing."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer

from pelton.consumers.assignment import Partition
from pelton.consumers.ledger import Ledger


class Inquiry:
    """Asks for committed offsets, and waits for pending transactions before it believes the answer.

    The client is kept until it has answered: a new one takes longer to find the group's coordinator than a caller may
    wait, and would never get to an answer if each try began with another.
    """

    def __init__(self, properties: dict[str, Any]) -> None:
        self._properties = {**properties, "enable.auto.commit": False, "isolation.level": "read_committed"}
        self._consumer: Consumer | None = None

    def offsets(self, partitions: Iterable[Partition], timeout_s: float) -> dict[Partition, int]:
        """Return the committed offsets, without those that have none; one thread at a time.

        Raises KafkaFailure when the broker refuses or does not answer in time: ask again.
        """
        if self._consumer is None:
            self._consumer = Consumer(self._properties)
        found = Ledger(self._consumer).offsets(partitions, timeout_s)
        self._consumer.close()
        self._consumer = None
        return found
