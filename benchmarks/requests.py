"""Calls to a served model beside calls to repliers by hand, by the same client; the last line is JSON.

Usage: python -m benchmarks.requests (or as a part of `make bench`)
"""

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import steady
from benchmarks.events import event
from benchmarks.processes import Contender, pelton, wait_until_ready
from pelton.producers.client import RequestReplyClient
from pelton.topics import create

RATE, SECONDS = 200, 10.0
N_CALLS = 30_000
ROUNDS = 3
PORT = 18_580
PARTITIONS = 4
DEADLINE_S = 60.0


class RequestBench:
    """One run: topics of its own, and the same questions for everybody."""

    def __init__(self, brokers: str, folder: Path) -> None:
        self._brokers, self._folder = brokers, folder
        self._run = f"bench-calls-{time.time_ns()}"
        rng = random.Random(13)
        self._events: list[Any] = [json.loads(event(f"call-{number}", rng)) for number in range(1_000)]

    @contextmanager
    def answered_by(self, name: str) -> Iterator[RequestReplyClient]:
        """Yield a client of `pelton`, or of the replier by hand `echo` or `model`, once it is answered."""
        requests, replies = f"{self._run}-{name}-{time.time_ns()}", f"{self._run}-{name}-replies"
        create(self._brokers, {requests: PARTITIONS, replies: PARTITIONS})
        options = {"kafka": self._brokers, "requests": requests, "replies": replies, "deadline_s": DEADLINE_S}
        with self._start(name, requests, replies), RequestReplyClient(**options) as client:
            client.call_many(self._events)
            yield client

    def latency_ms(self, client: RequestReplyClient) -> tuple[float, float]:
        """Call at a steady rate, and return p50 and p99 in milliseconds."""
        return steady.latency_ms(client, self._events, RATE, SECONDS)

    def calls_per_s(self, client: RequestReplyClient) -> float:
        """Ask as fast as answers come, up to a thousand on their way at once."""
        questions = [self._events[number % len(self._events)] for number in range(N_CALLS)]
        began_s = time.monotonic()
        client.call_many(questions)
        return N_CALLS / (time.monotonic() - began_s)

    def _start(self, name: str, requests: str, replies: str) -> Contender:
        if name != "pelton":
            arguments = [name, self._brokers, requests, f"{requests}-group"]
            return Contender([sys.executable, "-m", "benchmarks.replier", *arguments])
        stream = f"{requests}-in"
        create(self._brokers, {stream: 1, f"{stream}-sink": 1, f"{stream}-sink-dead-letters": 1})
        asked = {"topics": [requests], "group": f"{requests}-group", "reply_topics": [replies]}
        served = pelton(self._folder, self._brokers, stream, f"{stream}-sink", stream, PORT, requests=asked)
        wait_until_ready(PORT)
        return served


def measure_requests(brokers: str, folder: Path) -> dict[str, float]:
    """Measure latency and throughput, contenders in turn, and return the figures."""
    bench = RequestBench(brokers, folder)
    with bench.answered_by("echo") as client:
        floor_p50_ms, floor_p99_ms = bench.latency_ms(client)
    with bench.answered_by("pelton") as client:
        p50_ms, p99_ms = bench.latency_ms(client)
    per_s: dict[str, list[float]] = {"pelton": [], "model": []}
    for _ in range(ROUNDS):
        for name, of_name in per_s.items():
            with bench.answered_by(name) as client:
                of_name.append(bench.calls_per_s(client))
            print(f"{name:10} {of_name[-1]:>9,.0f} calls/s", file=sys.stderr)
    ours, by_hand = (statistics.median(per_s[name]) for name in ("pelton", "model"))
    return {
        "p50_ms": round(p50_ms, 1),
        "p99_ms": round(p99_ms, 1),
        "floor_p50_ms": round(floor_p50_ms, 1),
        "floor_p99_ms": round(floor_p99_ms, 1),
        "calls_per_s": round(ours),
        "hand_written_calls_per_s": round(by_hand),
        "ratio": round(ours / by_hand, 3),
    }


def main() -> None:
    """Measure and print."""
    from benchmarks.run import broker  # noqa: PLC0415 - it imports this module

    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"request_reply": measure_requests(brokers, Path(folder))}))


if __name__ == "__main__":
    main()
