"""A good loop of one's own: consume(512) → orjson → torch → produce, at least once, committed every 250 ms.

Usage: python -m benchmarks.hand_written BROKERS INPUT SINK GROUP (until it is terminated)
"""

import signal
import sys
import time
from itertools import chain

import numpy as np
import orjson
import torch
from confluent_kafka import Consumer, Producer

from pelton.models.package import load_package

COMMIT_EVERY_S = 0.25


def main() -> None:
    brokers, topic, sink, group = sys.argv[1:]
    torch.set_num_threads(1)
    net = load_package("benchmarks/mlp/1").load("cpu").module  # type: ignore[attr-defined]
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": True,
        }
    )
    producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True, "linger.ms": 5})
    consumer.subscribe([topic])
    commit_due_s = time.monotonic() + COMMIT_EVERY_S
    while running:
        messages = [message for message in consumer.consume(512, 0.01) if message.error() is None]
        if messages:
            events = [orjson.loads(message.value()) for message in messages]
            rows = chain.from_iterable([event["x"] for event in events])
            inputs = np.fromiter(rows, np.float32, 32 * len(events)).reshape(-1, 32)
            with torch.inference_mode():
                scores = net(torch.from_numpy(inputs)).squeeze(1).tolist()
            for message, event, score in zip(messages, events, scores, strict=True):
                value = orjson.dumps({"event_id": event["id"], "score": score})
                producer.produce(sink, value, event["id"], message.partition())
            producer.poll(0)
        if time.monotonic() > commit_due_s:
            producer.flush()
            if consumer.assignment():
                consumer.commit(asynchronous=True)
            commit_due_s = time.monotonic() + COMMIT_EVERY_S
    consumer.close()


if __name__ == "__main__":
    main()
