"""Pelton beside a hand-written loop on the same events, broker and cores, in one run; the last line is JSON."""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from benchmarks import events, reading
from benchmarks.processes import Contender, by_hand, pelton, wait_until_ready
from benchmarks.requests import measure_requests
from pelton.local_kafka import LocalKafka
from pelton.topics import create

N_EVENTS = 200_000
ROUNDS = 3
RATE, SECONDS = 1_000, 15.0
PORT = 18_480
PARTITIONS = 4
CORES = psutil.cpu_count() or 1
NOISE_CORES = 0.3
DELIVERY = {"pelton": "at-least-once", "pelton_exact": "exactly-once"}
STREAMS = ("hand_written", "pelton", "hand_written_exact", "pelton_exact")

console = Console(stderr=True)


@contextmanager
def broker() -> Iterator[str]:
    """Yield a broker: the one named by PELTON_TEST_BROKERS, or a local Kafka of this run's own."""
    if brokers := os.environ.get("PELTON_TEST_BROKERS"):
        yield brokers
        return
    with tempfile.TemporaryDirectory() as folder, LocalKafka(Path(folder)) as kafka:
        yield kafka.bootstrap


def wait_for_quiet(timeout_s: float = 90.0) -> None:
    """Wait until other work leaves the machine, and tell when it does not."""
    end_s = time.monotonic() + timeout_s
    while (busy := psutil.cpu_percent(interval=1.0) * CORES / 100) > NOISE_CORES:
        if time.monotonic() > end_s:
            console.log(f"other work takes {busy:.1f} cores: the next figure is noisy")
            return


class Bench:
    """One run: a broker, a folder for settings, and topics with names of this run."""

    def __init__(self, brokers: str, folder: Path) -> None:
        self.brokers, self.folder = brokers, folder
        self.run = f"bench-{time.time_ns()}"
        self.input = f"{self.run}-in"
        create(brokers, {self.input: PARTITIONS})

    def sink(self, name: str) -> str:
        """Create a sink, with a topic for dead letters beside it."""
        topic = f"{self.run}-{name}"
        create(self.brokers, {topic: PARTITIONS, f"{topic}-dead-letters": 1})
        return topic

    def stream(self, name: str, round_: int) -> dict[str, float]:
        """Score all events once and return what it took."""
        sink = self.sink(f"{name}-{round_}")
        wait_for_quiet()
        with self._start(name, self.input, sink, port=PORT + round_) as contender:
            reading.wait_for(self.brokers, sink, 1)
            cpu_s = contender.cpu_s()
            reading.wait_for(self.brokers, sink, N_EVENTS)
            cpu_us = (contender.cpu_s() - cpu_s) / N_EVENTS * 1e6
            rss_mb = contender.rss_mb()
        result = reading.throughput(self.brokers, sink, N_EVENTS)
        if result.n_distinct != N_EVENTS:
            raise SystemExit(f"{name}: {result.n} scores, {result.n_distinct} different: not a fair run")
        console.log(f"{name:18} {result.per_s:>9,.0f} events/s   {cpu_us:5.2f} µs of CPU each   {rss_mb:5,.0f} MiB")
        return {"per_s": result.per_s, "rss_mb": rss_mb}

    def latency(self, name: str) -> tuple[float, float]:
        """Send events at a steady rate and return the p50 and p99 of due time to score read, in ms."""
        topic = self.sink(f"{name}-paced")
        sink = self.sink(f"{name}-answers")
        wait_for_quiet()
        id_name = "id" if name == "echo" else "event_id"
        with self._start(name, topic, sink, port=PORT + 90) as _:
            warm = multiprocessing.get_context("spawn").Process(
                target=events.pace, args=(self.brokers, topic, RATE, 2.0)
            )
            warm.start()
            reading.wait_for(self.brokers, sink, int(RATE * 2.0))
            warm.join()
            sender = multiprocessing.get_context("spawn").Process(
                target=events.pace, args=(self.brokers, topic, RATE, SECONDS)
            )
            sender.start()
            total = int(RATE * (2.0 + SECONDS))
            found = reading.latencies_ms(self.brokers, sink, total, id_name, SECONDS + 30)[int(RATE * 2.0) :]
            sender.join()
        if len(found) != int(RATE * SECONDS):
            raise SystemExit(f"{name}: {len(found)} of {int(RATE * SECONDS)} scores came")
        ranks = statistics.quantiles(found, n=100)
        console.log(f"{name:18} p50 {ranks[49]:6.1f} ms   p99 {ranks[98]:6.1f} ms   max {max(found):6.1f} ms")
        return ranks[49], ranks[98]

    def startup_s(self) -> float:
        """Return the seconds from the start of `pelton serve` to ready."""
        sink = self.sink("startup")
        wait_for_quiet()
        with self._start("pelton", self.input, sink, port=PORT + 91) as contender:
            return wait_until_ready(PORT + 91) - contender.started_s

    def _start(self, name: str, topic: str, sink: str, port: int) -> Contender:
        group = f"{sink}-group"
        if name in DELIVERY:
            return pelton(self.folder, self.brokers, topic, sink, group, port, delivery=DELIVERY[name])
        return by_hand(name, self.brokers, topic, sink, group)


def import_torch_s() -> float:
    """Return what a bare `import torch` takes here, in seconds."""
    started_s = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.monotonic() - started_s


def measure(bench: Bench) -> dict[str, Any]:
    """Run everything, contenders in turn, and return the figures."""
    events.fill(bench.brokers, bench.input, N_EVENTS)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in STREAMS}
    for round_ in range(ROUNDS):
        for name, of_name in runs.items():
            of_name.append(bench.stream(name, round_))
    per_s = {name: statistics.median(run["per_s"] for run in of_name) for name, of_name in runs.items()}
    floor_p50, floor_p99 = bench.latency("echo")
    p50, p99 = bench.latency("pelton")
    exact_p50, exact_p99 = bench.latency("pelton_exact")
    startups = [bench.startup_s() for _ in range(ROUNDS)]
    console.log(f"start to ready {startups}, import torch alone {import_torch_s():.2f} s")
    return {
        "stream": {
            "hand_written_per_s": round(per_s["hand_written"]),
            "pelton_per_s": round(per_s["pelton"]),
            "ratio": round(per_s["pelton"] / per_s["hand_written"], 3),
            "rss_mb": round(max(run["rss_mb"] for run in runs["pelton"])),
        },
        "exactly_once": {
            "per_s": round(per_s["pelton_exact"]),
            "ratio": round(per_s["pelton_exact"] / per_s["pelton"], 3),
            "hand_written_ratio": round(per_s["pelton_exact"] / per_s["hand_written_exact"], 3),
            "p50_ms": round(exact_p50, 1),
            "p99_ms": round(exact_p99, 1),
        },
        "latency": {
            "floor_p50_ms": round(floor_p50, 1),
            "floor_p99_ms": round(floor_p99, 1),
            "p50_ms": round(p50, 1),
            "p99_ms": round(p99, 1),
        },
        "request_reply": measure_requests(bench.brokers, bench.folder),
        "startup_s": round(statistics.median(startups), 2),
    }


def main() -> None:
    """Measure and print."""
    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Bench(brokers, Path(folder)))))


if __name__ == "__main__":
    main()
