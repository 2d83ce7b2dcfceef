"""Repliers by hand: `echo` answers each request as it comes, with no model; `model` batches, as a good loop would.

Usage: python -m benchmarks.replier echo|model BROKERS REQUESTS GROUP (until it is terminated)
"""

import signal
import struct
import sys
import time
from itertools import chain
from typing import Any

import numpy as np
import orjson
import torch
from confluent_kafka import Consumer, Message, Producer

from pelton.models.package import load_package

COMMIT_EVERY_S = 0.25
AT_ONCE = 512


class Replier:
    def __init__(self, brokers: str, topic: str, group: str) -> None:
        mine = {"bootstrap.servers": brokers}
        self.consumer = Consumer(
            {**mine, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        self.consumer.subscribe([topic])
        self.producer = Producer({**mine, "linger.ms": 0, "enable.idempotence": True})
        self._commit_due_s = time.monotonic()

    def read(self) -> list[Message]:
        """Return one request or all that are there."""
        first = self.consumer.consume(1, 0.1)
        messages = first + (self.consumer.consume(AT_ONCE - 1, 0) if first else [])
        return [message for message in messages if message.error() is None]

    def answer(self, message: Message, score: float) -> None:
        headers: dict[str, Any] = dict(message.headers() or ())
        (partition,) = struct.unpack(">i", headers["kafka_replyPartition"])
        call_id = headers["kafka_correlationId"]
        value = orjson.dumps({"code": "ok", "data": score, "trace_id": call_id.hex()})
        topic = headers["kafka_replyTopic"].decode()
        self.producer.produce(topic, value, partition=partition, headers=[("kafka_correlationId", call_id)])

    def commit(self) -> None:
        """Commit now and then, what is answered."""
        self.producer.poll(0)
        if time.monotonic() > self._commit_due_s:
            self.producer.flush()
            if self.consumer.assignment():
                self.consumer.commit(asynchronous=True)
            self._commit_due_s = time.monotonic() + COMMIT_EVERY_S


def main() -> None:
    mode, brokers, topic, group = sys.argv[1:]
    torch.set_num_threads(1)
    net = load_package("benchmarks/mlp/1").load("cpu").module  # type: ignore[attr-defined]
    running = [True]
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    replier = Replier(brokers, topic, group)
    while running:
        messages = replier.read()
        scores = [0.0] * len(messages)
        if messages and mode == "model":
            asked = [orjson.loads(message.value())["inputs"] for message in messages]
            rows = chain.from_iterable([event["x"] for event in asked])
            with torch.inference_mode():
                inputs = np.fromiter(rows, np.float32, 32 * len(asked)).reshape(-1, 32)
                scores = net(torch.from_numpy(inputs)).squeeze(1).tolist()
        for message, score in zip(messages, scores, strict=True):
            replier.answer(message, score)
        replier.commit()
    replier.producer.flush()
    replier.consumer.close()


if __name__ == "__main__":
    main()
