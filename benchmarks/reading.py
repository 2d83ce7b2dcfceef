"""What arrived in a sink, read by a client that knows nothing of who wrote it."""

import time
from dataclasses import dataclass

import orjson
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, TopicPartition


@dataclass(frozen=True, slots=True)
class Throughput:
    """Scores of one run: how many, how many different events, and the seconds from first to last."""

    n: int
    n_distinct: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.n / self.seconds


def _reader(brokers: str, topic: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": f"reader-{time.time_ns()}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,
        }
    )
    partitions = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    return consumer


def wait_for(brokers: str, topic: str, n: int, timeout_s: float = 120) -> None:
    """Wait until a topic holds `n` records."""
    consumer = _reader(brokers, topic)
    end_s = time.monotonic() + timeout_s
    while _end(consumer) < n:
        if time.monotonic() > end_s:
            raise TimeoutError(f"{topic} did not reach {n} records within {timeout_s} s")
        time.sleep(0.05)
    consumer.close()


def count(brokers: str, topic: str) -> int:
    """Return how many records a topic holds."""
    consumer = _reader(brokers, topic)
    n = _end(consumer)
    consumer.close()
    return n


def _end(consumer: Consumer) -> int:
    return sum(consumer.get_watermark_offsets(partition, timeout=5)[1] for partition in consumer.assignment())


def throughput(brokers: str, topic: str, n: int) -> Throughput:
    """Read `n` scores and take the time between the first and the last of them from their record timestamps."""
    consumer = _reader(brokers, topic)
    ids, stamps = set(), []
    while len(stamps) < n:
        for message in consumer.consume(10_000, 0.2):
            kind, stamp_ms = message.timestamp()
            assert kind == TIMESTAMP_CREATE_TIME
            ids.add(orjson.loads(message.value())["event_id"])
            stamps.append(stamp_ms)
    consumer.close()
    return Throughput(len(stamps), len(ids), (max(stamps) - min(stamps)) / 1000)


def latencies_ms(brokers: str, topic: str, n: int, id_name: str, timeout_s: float) -> list[float]:
    """Read scores as they come; return how long after its due time each one was here, in milliseconds."""
    consumer = _reader(brokers, topic)
    found: list[float] = []
    end_s = time.monotonic() + timeout_s
    while len(found) < n and time.monotonic() < end_s:
        for message in consumer.consume(1, 0.1):
            now_ns = time.time_ns()
            found.append((now_ns - int(orjson.loads(message.value())[id_name])) / 1e6)
    consumer.close()
    return found
