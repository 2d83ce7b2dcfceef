"""A member that takes a second to give partitions back, and says so: python slow_to_give.py BROKERS TOPIC GROUP."""

import sys
import time

from pelton.consumers.assignment import Assignment, Partition
from pelton.consumers.source import Source
from pelton.errors import KafkaFailure

POSITION = 5


class Member:
    """Commits position 5 of all it has with every poll, until partitions come a second time."""

    def __init__(self, brokers: str, topic: str, group: str) -> None:
        config = {
            "bootstrap.servers": brokers,
            "group.id": group,
            "group.instance.id": "slow",
            "session.timeout.ms": 2000,
            "heartbeat.interval.ms": 200,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "log_level": 0,
        }
        self.assignment = Assignment()
        self.source = Source(config, [topic], self.assignment, max_records=100, transactional=True)
        self.has_given = self.came_again = False

    def run(self) -> None:
        self.source.join(self)
        while not self.came_again:
            self.source.poll(0.05)
            if self.assignment.partitions and not self.came_again:
                self._commit(wait=False)
        say("came again")

    def on_assigned(self, partitions: list[Partition]) -> None:
        self.came_again = bool(self.has_given and partitions)
        say(f"has {len(self.assignment.partitions)}")

    def on_revoked(self, _partitions: list[Partition]) -> None:
        self.has_given = True
        say("gives")
        time.sleep(1.0)
        self._commit(wait=True)

    def on_lost(self, _partitions: list[Partition]) -> None:
        say("lost")

    def _commit(self, *, wait: bool) -> None:
        try:
            self.source.ledger.commit(dict.fromkeys(self.assignment.partitions, POSITION), {}, wait=wait)
        except KafkaFailure as error:
            say(f"held: {error}")


def say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Member(*sys.argv[1:]).run()
