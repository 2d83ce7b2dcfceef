"""A replier by hand, for callers' tests: `python echo.py BROKERS REQUESTS` answers until its standard input closes.

It knows nothing of Pelton. A number is answered by twice of it. An object tells what becomes of it: `{"x": 1, "code":
"overloaded"}` answers with that code, `drop` answers nothing, `twice` answers two times, `foreign` answers to another
id first, `raw` answers with that text, `hold` waits until a file of that name exists. With `times` all of this ends
after so many requests of the same id. `{"seen": true}` answers how many requests and cancels each id had, in hex.
"""

import json
import os
import struct
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition


class Echo:
    def __init__(self, brokers: str, topic: str) -> None:
        quiet = {"bootstrap.servers": brokers, "log_level": 0}
        self.producer = Producer({**quiet, "linger.ms": 1})
        self.consumer = Consumer({**quiet, "group.id": "echo", "enable.auto.commit": False})
        numbers = self.consumer.list_topics(topic, timeout=20).topics[topic].partitions
        places = [TopicPartition(topic, number) for number in numbers]
        for place in places:
            place.offset = self.consumer.get_watermark_offsets(place, timeout=20)[1]
        self.consumer.assign(places)
        self.seen: Counter[bytes] = Counter()
        self.cancelled: Counter[bytes] = Counter()
        self.at: dict[bytes, list[int]] = {}
        self.held: list[tuple[Path, Message]] = []
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            messages = self.consumer.consume(1, 0.02)
            for message in messages + (self.consumer.consume(1000, 0) if messages else []):
                self.take(message)
            free = [(path, message) for path, message in self.held if path.exists()]
            self.held = [each for each in self.held if each not in free]
            for _, message in free:
                self.answer(message, {"code": "ok", "data": "free", "trace_id": "t"})
            self.producer.poll(0)
        self.producer.flush(5)

    def take(self, message: Message) -> None:
        headers: Any = dict(message.headers() or ())
        call_id = headers["kafka_correlationId"]
        if "pelton-cancel" in headers:
            self.cancelled[call_id] += 1
            return
        self.seen[call_id] += 1
        self.at.setdefault(call_id, []).append(message.partition())
        asked = json.loads(message.value())["inputs"]
        if not isinstance(asked, dict):
            self.answer(message, {"code": "ok", "data": double(asked), "trace_id": "t"})
        elif asked.get("seen"):
            told = {"seen": hexed(self.seen), "cancelled": hexed(self.cancelled), "at": hexed(self.at)}
            self.answer(message, {"code": "ok", "data": told, "trace_id": "t"})
        elif self.seen[call_id] > asked.get("times", 1e9):
            self.answer(message, {"code": "ok", "data": 2 * asked["x"], "trace_id": "t"})
        else:
            self.misbehave(message, asked)

    def misbehave(self, message: Message, asked: dict[str, Any]) -> None:
        good = {"code": "ok", "data": 2 * asked.get("x", 0), "trace_id": "t"}
        if "hold" in asked:
            self.held.append((Path(asked["hold"]), message))
        elif code := asked.get("code"):
            self.answer(message, {"code": code, "error": f"asked for {code}", "trace_id": "t-1"})
        elif "raw" in asked:
            self.answer(message, asked["raw"])
        elif not asked.get("drop"):
            if asked.get("foreign"):
                self.answer(message, {**good, "data": "not yours"}, os.urandom(16))
            self.answer(message, good)
            if asked.get("twice"):
                self.answer(message, {**good, "data": "again"})

    def answer(self, message: Message, reply: Any, call_id: bytes | None = None) -> None:
        headers: Any = dict(message.headers() or ())
        value = reply if isinstance(reply, str) else json.dumps(reply)
        (partition,) = struct.unpack(">i", headers["kafka_replyPartition"])
        told = [("kafka_correlationId", call_id or headers["kafka_correlationId"])]
        while True:
            try:
                return self.producer.produce(
                    headers["kafka_replyTopic"].decode(), value, partition=partition, headers=told
                )
            except BufferError:
                self.producer.poll(0.1)


def double(asked: Any) -> Any:
    return [2 * each for each in asked] if isinstance(asked, list) else 2 * asked


def hexed(by_id: Any) -> dict[str, Any]:
    return {call_id.hex(): value for call_id, value in by_id.items()}


if __name__ == "__main__":
    echo = Echo(*sys.argv[1:])
    threading.Thread(target=lambda: (sys.stdin.read(), echo.stop.set()), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    echo.run()
