"""Requests at a steady rate while the stream has a backlog without end: how long they wait, and what the stream gets.

The model takes 20 + 2n ms for n events, so a full batch of the stream takes 84 ms. The last line is JSON.

Usage: python -m benchmarks.backlog
"""

import json
import re
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from confluent_kafka import Producer

from benchmarks import steady
from benchmarks.batch_policy import EACH_MS, FIXED_MS, timed_model
from benchmarks.run import broker

RATE, SECONDS, WARM_S = 200, 20.0, 3.0
SIZE, BACKLOG = 32, 30_000
BATCH_MS = FIXED_MS + EACH_MS * SIZE
SHARE = 0.25
PORT = 18_610


def fill(brokers: str, topic: str) -> None:
    """Write more events than can be scored meanwhile."""
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20})
    for number in range(BACKLOG):
        producer.produce(topic, json.dumps({"x": number}))
        producer.poll(0)
    producer.flush()


def counted() -> tuple[float, float, float]:
    """Return the records of the stream that are scored, the batches of the stream, and those of requests."""
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    series = ("scored_total", 'batches_total{[^}]*lane="stream"', 'batches_total{[^}]*lane="requests"')
    found = [sum(map(float, re.findall(rf"^pelton_{name}\S* (\S+)$", text, re.MULTILINE))) for name in series]
    return found[0], found[1], found[2]


def measure(brokers: str, folder: Path) -> dict[str, float]:
    """Serve both roads, and return the latencies of requests and the share of the stream."""
    name = f"backlog-{time.time_ns()}"
    with timed_model(brokers, folder, name, SIZE, PORT, stream_share=SHARE) as client:
        fill(brokers, f"{name}-r")
        questions = [{"x": number} for number in range(1_000)]
        steady.latency_ms(client, questions, RATE, WARM_S)
        before, began_s = counted(), time.monotonic()
        p50_ms, p99_ms = steady.latency_ms(client, questions, RATE, SECONDS)
        after, took_s = counted(), time.monotonic() - began_s
    scored, of_stream, of_requests = (now - then for now, then in zip(after, before, strict=True))
    return {
        "p50_ms": round(p50_ms, 1),
        "p99_ms": round(p99_ms, 1),
        "p99_batches": round(p99_ms / BATCH_MS, 2),
        "stream_per_s": round(scored / took_s, 1),
        "stream_alone_per_s": round(SIZE / BATCH_MS * 1000, 1),
        "stream_share_of_batches": round(of_stream / (of_stream + of_requests), 3),
        "stream_batch_size": round(scored / of_stream, 1),
        "guaranteed_share": SHARE,
    }


def main() -> None:
    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        found = measure(brokers, Path(folder))
    print(f"a full batch takes {BATCH_MS} ms", file=sys.stderr)
    print(json.dumps({"backlog": found}))


if __name__ == "__main__":
    main()
