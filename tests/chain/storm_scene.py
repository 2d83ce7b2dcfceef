"""Where a storm takes place: its topics, the settings of its workers, and what is found there afterwards."""

import uuid
from typing import Any

from confluent_kafka.cimpl import NewTopic

from tests.broker.outside import Outside
from tests.broker.served import eventually
from tests.chain.storm_flow import read_all
from tests.chain.storm_judge import Verdict, judge
from tests.chain.stream import MLP, PARTITIONS

SESSION_MS = 3_000
HEARTBEAT_MS = 500
COOPERATIVE = {
    "partition.assignment.strategy": "cooperative-sticky",
    "session.timeout.ms": SESSION_MS,
    "heartbeat.interval.ms": HEARTBEAT_MS,
}
FORMS: dict[str, dict[str, Any]] = {
    "cooperative-sticky": COOPERATIVE,
    "static": COOPERATIVE,
    "consumer": {"group.protocol": "consumer"},
}
"""The forms that a rebalance has, as properties of the clients."""
BROKER_CONFIG = {
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}
"""The same clocks where the broker decides on them."""
TRANSACTION_MS = 8_000
"""Longer than a session: what a frozen worker left open is still open when its partitions have moved."""
FINISHED_S = 60.0


class Scene:
    """Topics of its own on a broker, for workers of one group in one form."""

    def __init__(self, outside: Outside, delivery: str, form: str = "cooperative-sticky", **kafka: Any) -> None:
        self._outside, self._delivery, self._form, self._kafka = outside, delivery, form, kafka
        name = uuid.uuid4().hex[:8]
        self.source, self.sink, self.dead_letter = f"events-{name}", f"scores-{name}", f"dead-{name}"
        self.group = f"storm-{name}"
        new = [NewTopic(self.source, PARTITIONS, 1), NewTopic(self.sink, PARTITIONS, 1), NewTopic(self.dead_letter, 1)]
        for made in outside.admin.create_topics(new, operation_timeout=20).values():
            made.result(30)
        eventually(lambda: all(self._has_leaders(topic.topic) for topic in new))

    def settings(self, number: int) -> dict[str, Any]:
        """Return the settings of one `pelton serve` of the group."""
        stream = {"topics": [self.source], "group": self.group, "sink": self.sink, "dead_letter": self.dead_letter}
        if self._form == "static":
            stream["static_id"] = f"member-{number}"
        kafka = {
            "bootstrap.servers": self._outside.brokers,
            "topic.metadata.refresh.interval.ms": 1_000,
            **FORMS[self._form],
            **self._kafka,
        }
        if self._delivery == "exactly-once":
            # What a frozen worker left open hides everybody's scores until then.
            kafka["transaction.timeout.ms"] = TRANSACTION_MS
        return {
            "model": str(MLP),
            "device": "cpu",
            "delivery": self._delivery,
            "stream": stream,
            "kafka": kafka,
            "sidecar": {"port": 0},
            "log": {"format": "json"},
            "restart": {"first_s": 0.1, "max_s": 1},
        }

    def _has_leaders(self, topic: str) -> bool:
        partitions = self._outside.admin.list_topics(topic, timeout=20).topics[topic].partitions
        return bool(partitions) and all(each.leader >= 0 for each in partitions.values())

    def finished(self, n_sent: int) -> bool:
        """Tell whether the group has committed all that was sent."""
        committed = self._outside.committed(self.group, self.source)
        return sum(committed.values()) == n_sent and committed == self._outside.ends(self.source)

    def verdict(self, n_sent: int) -> Verdict:
        """Judge all that came of the events sent, once the workers have ended."""
        return judge(
            read_all(self._outside.brokers, self.sink), read_all(self._outside.brokers, self.dead_letter), n_sent
        )
