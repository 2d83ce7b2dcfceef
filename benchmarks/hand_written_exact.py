"""A good transactional loop of one's own: scores and offsets in one transaction, committed every 100 ms.

Usage: python -m benchmarks.hand_written_exact BROKERS INPUT SINK GROUP (until it is terminated)
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

COMMIT_EVERY_S = 0.1


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
            "isolation.level": "read_committed",
        }
    )
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": f"{group}-0", "linger.ms": 5})
    producer.init_transactions(30)
    consumer.subscribe([topic])
    open_since_s = 0.0
    while running or open_since_s:
        messages = [message for message in consumer.consume(512, 0.01) if message.error() is None]
        if messages:
            if not open_since_s:
                producer.begin_transaction()
                open_since_s = time.monotonic()
            events = [orjson.loads(message.value()) for message in messages]
            rows = chain.from_iterable([event["x"] for event in events])
            inputs = np.fromiter(rows, np.float32, 32 * len(events)).reshape(-1, 32)
            with torch.inference_mode():
                scores = net(torch.from_numpy(inputs)).squeeze(1).tolist()
            for message, event, score in zip(messages, events, scores, strict=True):
                value = orjson.dumps({"event_id": event["id"], "score": score})
                producer.produce(sink, value, event["id"], message.partition())
            producer.poll(0)
        if open_since_s and (time.monotonic() > open_since_s + COMMIT_EVERY_S or not running):
            # Without this flush, the next call takes 100 ms (see DESIGN.md).
            producer.flush()
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 10)
            producer.commit_transaction(10)
            open_since_s = 0.0
    consumer.close()


if __name__ == "__main__":
    main()
