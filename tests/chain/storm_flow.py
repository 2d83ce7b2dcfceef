"""What a reader of committed records sees of a storm: the flow while it lasts, and all of it at the end."""

import threading
import time
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from pelton.deadline import Deadline
from tests.chain.stream import PARTITIONS

READ_S = 120.0


def reader(brokers: str, topic: str, **properties: Any) -> Consumer:
    """Return a consumer of all of a topic from its beginning, in no group."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "outside",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
            **properties,
        }
    )
    numbers = consumer.list_topics(topic, timeout=20).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    return consumer


def read_all(brokers: str, topic: str) -> list[Message]:
    """Return every committed record; waits for the end of transactions that are still open."""
    consumer = reader(brokers, topic, **{"enable.partition.eof": True})
    left = {at.partition: consumer.get_watermark_offsets(at, timeout=20)[1] for at in consumer.assignment()}
    messages: list[Message] = []
    deadline = Deadline.after(READ_S)
    while left:
        assert not deadline.expired, f"{topic}: {len(messages)} records read, not up to {left}"
        for message in consumer.consume(10_000, 0.1):
            if (error := message.error()) is None:
                messages.append(message)
            elif error.code() != KafkaError._PARTITION_EOF:
                raise AssertionError(error)
            elif message.offset() >= left.get(message.partition(), 0):
                # The end as a reader of committed records sees it: beyond markers, before an open transaction.
                left.pop(message.partition(), None)
    consumer.close()
    return messages


class Flow(threading.Thread):
    """Watches the scores come out, until it is over: how far each partition is, and when its last score was seen."""

    def __init__(self, brokers: str, sink: str) -> None:
        super().__init__(daemon=True)
        self.last_s = dict.fromkeys(range(PARTITIONS), 0.0)
        self.passed = dict.fromkeys(range(PARTITIONS), -1)
        self.over = threading.Event()
        self._consumer = reader(brokers, sink)

    def run(self) -> None:
        while not self.over.is_set():
            for message in self._consumer.consume(1_000, 0.05):
                if message.error() is None:
                    source = orjson.loads(message.value())["source"]
                    number, offset = source["partition"], source["offset"]
                    self.last_s[number] = time.monotonic()
                    self.passed[number] = max(self.passed[number], offset)
        self._consumer.close()

    def reached(self, n_sent: int) -> bool:
        """Tell whether each partition has given a score of an event after the first `n_sent` ones."""
        return all(offset > n_sent // PARTITIONS for offset in self.passed.values())

    def silent_s(self) -> dict[int, float]:
        """Return for how long each partition has given no score."""
        return {number: round(time.monotonic() - last_s, 1) for number, last_s in self.last_s.items()}
