"""What `pelton lag` and Kafka's own tool say of a group, and records written in transactions."""

import json
import subprocess
import sys
import uuid
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from pelton.kafka_java import Java

from .outside import Outside, event


class Group:
    """A group, one that only commits unless it has a name, and what is said of its lag in one topic."""

    def __init__(self, outside: Outside, topic: str, name: str | None = None) -> None:
        self.outside, self.topic, self.name = outside, topic, name or f"group-{uuid.uuid4().hex[:8]}"

    def commit(self, **offsets: int) -> None:
        """Commit `p0=10` and so on."""
        consumer = Consumer({"bootstrap.servers": self.outside.brokers, "group.id": self.name})
        places = [TopicPartition(self.topic, int(name[1:]), offset) for name, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def lag(self, *options: str) -> dict[str, Any]:
        """Return what `pelton lag --json` prints."""
        command = [sys.executable, "-m", "pelton.cli", "lag", self.name, "--brokers", self.outside.brokers, "--json"]
        told = subprocess.run([*command, *options], check=True, capture_output=True, text=True, timeout=40)
        return dict(json.loads(told.stdout))

    def records(self) -> list[int]:
        """Return the lag of each partition."""
        told = self.lag()
        assert told["records"] == sum(at["records"] for at in told["partitions"])
        return [at["records"] for at in told["partitions"]]

    def by_partition(self) -> dict[tuple[str, int], tuple[int, float]]:
        """Return records and seconds of each partition, by `pelton lag`."""
        return {(at["topic"], at["partition"]): (at["records"], at["oldest_s"]) for at in self.lag()["partitions"]}

    def kafkas_own(self) -> list[int]:
        """Return what Kafka's consumer-groups tool says, of partitions that were committed in."""
        text = Java.ready().run(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            *("--bootstrap-server", self.outside.brokers, "--describe", "--group", self.name),
        )
        rows = [line.split() for line in text.splitlines() if self.topic in line]
        return [int(row[5]) for row in sorted(rows, key=lambda row: int(row[2])) if row[5] != "-"]


def in_transaction(
    outside: Outside, topic: str, n: int, *, end: str, partition: int = 0, timeout_s: int = 9
) -> Producer:
    """Write events in one transaction to one partition; the producer keeps it open, or it is ended."""
    name = f"tx-{uuid.uuid4().hex[:8]}"
    producer = Producer(
        {"bootstrap.servers": outside.brokers, "transactional.id": name, "transaction.timeout.ms": timeout_s * 1000}
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    for i in range(n):
        producer.produce(topic, event(i), partition=partition)
    producer.flush(20)
    if end == "commit":
        producer.commit_transaction(20)
    elif end == "abort":
        producer.abort_transaction(20)
    return producer
