"""The events of the benchmark: JSON with an id and 32 floats, over 5,000 keys, by a fixed seed."""

import random
import time

from confluent_kafka import Producer

N_KEYS = 5_000


def event(event_id: str, rng: random.Random) -> bytes:
    """Return one event as JSON."""
    values = ",".join([f"{rng.gauss(0, 1):.4f}" for _ in range(32)])
    return f'{{"id":"{event_id}","x":[{values}]}}'.encode()


def fill(brokers: str, topic: str, n: int) -> None:
    """Produce `n` events to a topic and wait until all are there."""
    rng = random.Random(11)
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20, "enable.idempotence": True})
    for i in range(n):
        while True:
            try:
                producer.produce(topic, event(f"event-{i}", rng), f"key-{i % N_KEYS}")
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def pace(brokers: str, topic: str, rate: int, seconds: float) -> None:
    """Produce at a steady rate, open loop; each event's id is the time it was due, in nanoseconds."""
    rng = random.Random(12)
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 0, "enable.idempotence": True})
    producer.list_topics(topic)
    bodies = [event("ID", rng) for _ in range(1_000)]
    start_ns = time.time_ns() + 500_000_000
    for i in range(int(rate * seconds)):
        due_ns = start_ns + i * 1_000_000_000 // rate
        # The client rounds a wait of less than a millisecond to none, and a sender that spins takes a core from all.
        while (left_ns := due_ns - time.time_ns()) > 0:
            time.sleep(left_ns / 1e9)
        producer.poll(0)
        producer.produce(topic, bodies[i % 1_000].replace(b"ID", str(due_ns).encode()), str(i % N_KEYS))
    producer.flush()
