"""How long a partition is silent when its worker is killed, or told to end: exactly-once; the last line is JSON."""

import argparse
import json
import random
import signal
import statistics
import tempfile
import threading
import time
import urllib.request
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console

from benchmarks import events
from benchmarks.processes import Contender, pelton, wait_until_ready
from benchmarks.run import PARTITIONS, Bench, broker

PORT = 18_680
RATE = 100
SESSION_MS, HEARTBEAT_MS, TRANSACTION_MS = 3_000, 1_000, 10_000
GOALS_S = {"SIGKILL": (SESSION_MS + TRANSACTION_MS) / 1000 + 2, "SIGTERM": HEARTBEAT_MS / 1000 + 1}
MOST_S = 60.0

console = Console(stderr=True)


class Traffic:
    """Events at a steady rate, and when a committed reader had each score of each partition."""

    def __init__(self, brokers: str, topic: str, sink: str) -> None:
        self.arrivals_s: dict[int, list[float]] = {number: [] for number in range(PARTITIONS)}
        self._brokers, self._topic, self._sink = brokers, topic, sink
        self._over = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._send, self._read)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def silence_s(self, partition: int, since_s: float) -> float:
        """Wait until a partition has scores again; return the longest time without, from one second before."""
        end_s = time.monotonic() + MOST_S
        while time.monotonic() < end_s:
            near = [at_s for at_s in list(self.arrivals_s[partition]) if at_s > since_s - 1]
            longest, resumed_s = max(((b - a, b) for a, b in pairwise(near)), default=(0.0, 0.0))
            if near and max(since_s, resumed_s) < near[-1] - 1 and time.monotonic() - near[-1] < longest:
                return longest
            time.sleep(0.05)
        raise TimeoutError(f"partition {partition} had no score within {MOST_S:g} s")

    def _send(self) -> None:
        rng = random.Random(13)
        producer = Producer({"bootstrap.servers": self._brokers, "linger.ms": 0, "enable.idempotence": True})
        number = 0
        while not self._over.wait(1 / RATE):
            producer.produce(self._topic, events.event(f"event-{number}", rng), partition=number % PARTITIONS)
            producer.poll(0)
            number += 1
        producer.flush()

    def _read(self) -> None:
        properties = {"group.id": "reader", "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = Consumer({"bootstrap.servers": self._brokers, "fetch.wait.max.ms": 10, **properties})
        consumer.assign([TopicPartition(self._sink, number, 0) for number in self.arrivals_s])
        while not self._over.is_set():
            for message in consumer.consume(1_000, 0.01):
                self.arrivals_s[message.partition() or 0].append(time.monotonic())
        consumer.close()


class Crew:
    """Two workers of one group, each with a supervisor of its own, on ports of their own."""

    def __init__(self, bench: Bench, topic: str, sink: str, stack: ExitStack) -> None:
        self._bench, self._topic, self._sink, self._stack = bench, topic, sink, stack
        self._n_started = 0
        self.workers: dict[int, Contender] = {}

    def fill(self) -> None:
        """Start workers until there are two, and wait until each has its half of the partitions."""
        while len(self.workers) < 2:
            self._n_started += 1
            port = PORT + self._n_started
            folder = self._bench.folder / str(port)
            folder.mkdir()
            kafka = {
                "bootstrap.servers": self._bench.brokers,
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "transaction.timeout.ms": TRANSACTION_MS,
            }
            settings = {"kafka": kafka, "delivery": "exactly-once"}
            worker = pelton(folder, self._bench.brokers, self._topic, self._sink, f"{self._sink}-g", port, **settings)
            self.workers[port] = self._stack.enter_context(worker)
        for port in self.workers:
            wait_until_ready(port)
        end_s = time.monotonic() + MOST_S
        while any(len(self.owned(port)) != PARTITIONS // 2 for port in self.workers):
            if time.monotonic() > end_s:
                raise TimeoutError("the partitions were not shared out evenly")
            time.sleep(0.1)

    def owned(self, port: int) -> list[int]:
        """Return the partitions that a worker has."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5) as answer:
            status: dict[str, Any] = json.load(answer)
        return [at["partition"] for at in status["workers"][0]["partitions"]]


def take_over(crew: Crew, traffic: Traffic, number: signal.Signals) -> list[float]:
    """End a worker by a signal; return how long each of its partitions was silent."""
    crew.fill()
    time.sleep(1 + random.random())  # a moment like any other, and a second of scores before it
    port = random.choice(list(crew.workers))
    owned = crew.owned(port)
    at_s = time.monotonic()
    crew.workers.pop(port).signal(number)
    found = [traffic.silence_s(partition, at_s) for partition in owned]
    console.log(f"{number.name}   {'   '.join(f'{silence_s:5.2f} s' for silence_s in found)}")
    return found


def measure(bench: Bench, rounds: int) -> dict[str, dict[str, float | bool]]:
    """Return the distribution of silences, by the signal that ended the worker."""
    topic, sink = bench.sink("takeover-in"), bench.sink("takeover")
    found: dict[str, list[float]] = {name: [] for name in GOALS_S}
    with ExitStack() as stack:
        crew = Crew(bench, topic, sink, stack)
        with Traffic(bench.brokers, topic, sink) as traffic:
            for _ in range(rounds):
                for name in GOALS_S:
                    found[name] += take_over(crew, traffic, signal.Signals[name])
    return {name: summary(silences_s, GOALS_S[name]) for name, silences_s in found.items()}


def summary(silences_s: list[float], goal_s: float) -> dict[str, float | bool]:
    """Return what is told of many silences."""
    told = {
        "n": len(silences_s),
        "min_s": min(silences_s),
        "median_s": statistics.median(silences_s),
        "p90_s": statistics.quantiles(silences_s, n=10)[-1],
        "max_s": max(silences_s),
        "goal_s": goal_s,
    }
    return {name: round(value, 2) for name, value in told.items()} | {"met": max(silences_s) <= goal_s}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.takeover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how often a worker is ended by each signal")
    rounds = max(2, parser.parse_args().rounds)
    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Bench(brokers, Path(folder)), rounds)))


if __name__ == "__main__":
    main()
