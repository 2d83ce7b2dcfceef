"""Memory over two million events, while a sink stalls again and again, and over many calls; the last line is JSON."""

import argparse
import json
import random
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from rich.console import Console

from benchmarks import events, reading
from benchmarks.processes import Contender, pelton, wait_until_ready
from benchmarks.run import Bench, broker
from pelton.producers.client import RequestReplyClient

PORT = 18_580
SLICE = 100_000
SAMPLE_S = 0.25
STALL_S, STALLS = 5.0, 4
MOST_GROWTH_MB = 30.0
CALLS, CALL_SLICES = 20_000, 12

console = Console(stderr=True)


class Sampler:
    """Looks at the memory of supervisor and worker together, as long as the block lasts."""

    def __init__(self, contender: Contender) -> None:
        self.samples: list[float] = []
        self._contender = contender
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()

    def since(self, start: int) -> list[float]:
        """Return the samples from the number `start` on, and one of now."""
        return [*self.samples[start:], self._contender.rss_mb()]

    def _sample(self) -> None:
        while not self._ending.wait(SAMPLE_S):
            self.samples.append(self._contender.rss_mb())


class Soak:
    """One `pelton serve` with default settings, its topics, and how many scores there must be by now."""

    def __init__(self, bench: Bench, name: str, port: int, stack: ExitStack) -> None:
        self.bench, self.topic, self.sink = bench, bench.sink(f"{name}-in"), bench.sink(name)
        self.n = 0
        contender = pelton(bench.folder, bench.brokers, self.topic, self.sink, f"{self.sink}-group", port)
        stack.enter_context(contender)
        wait_until_ready(port)
        self.sampler = stack.enter_context(Sampler(contender))

    def fill(self, n: int) -> None:
        """Send `n` events more."""
        events.fill(self.bench.brokers, self.topic, n)
        self.n += n

    def wait(self) -> None:
        """Wait until every event sent has its score."""
        reading.wait_for(self.bench.brokers, self.sink, self.n)

    def pass_slice(self, n: int) -> list[float]:
        """Send `n` events, wait for their scores, and return the memory meanwhile, in MiB."""
        start = len(self.sampler.samples)
        self.fill(n)
        self.wait()
        return self.sampler.since(start)


def steady(bench: Bench, n_events: int) -> dict[str, float]:
    """Send all events in slices; growth is from the second slice, when all is warm, to the last."""
    with ExitStack() as stack:
        soak = Soak(bench, "steady", PORT, stack)
        began_s = time.monotonic()
        medians = []
        while soak.n < n_events:
            medians.append(statistics.median(soak.pass_slice(min(SLICE, n_events - soak.n))))
            console.log(f"{soak.n:>9,} events   {medians[-1]:6.1f} MiB")
        return {
            "events": soak.n,
            "per_s": round(soak.n / (time.monotonic() - began_s)),
            "warm_mb": round(medians[1], 1),
            "growth_mb": round(medians[-1] - medians[1], 1),
            "peak_mb": round(max(soak.sampler.samples), 1),
        }


def stalling(bench: Bench) -> dict[str, float]:
    """Let the sink refuse everything again and again while more than a queue is waiting; peak is against warm."""
    with ExitStack() as stack:
        soak = Soak(bench, "stalling", PORT + 1, stack)
        warm = [soak.pass_slice(SLICE) for _ in range(2)][-1]
        start = len(soak.sampler.samples)
        for _ in range(STALLS):
            _need_replicas(bench.brokers, soak.sink, 2)
            soak.fill(SLICE)
            n_written = reading.count(bench.brokers, soak.sink)
            time.sleep(STALL_S)
            if reading.count(bench.brokers, soak.sink) != n_written:
                raise SystemExit("the sink did not stall")
            console.log(f"{soak.n:>9,} events   {soak.sampler.samples[-1]:6.1f} MiB with the sink stalled")
            _need_replicas(bench.brokers, soak.sink, 1)
        soak.wait()
        peak = max(soak.sampler.since(start))
        return {
            "stalled_s": STALLS * STALL_S,
            "warm_mb": round(statistics.median(warm), 1),
            "peak_mb": round(peak, 1),
            "growth_mb": round(peak - statistics.median(warm), 1),
        }


def asked(bench: Bench) -> dict[str, float]:
    """Call in slices from one client; growth is from when as many answers are remembered as ever to the last slice."""
    requests, replies = bench.sink("soak-asked"), bench.sink("soak-answers")
    told = {"topics": [requests], "group": f"{requests}-group", "reply_topics": [replies], "max_repeats": CALLS}
    topic, sink = bench.sink("soak-idle-in"), bench.sink("soak-idle")
    served = pelton(bench.folder, bench.brokers, topic, sink, f"{sink}-group", PORT + 2, requests=told)
    rng, own, medians = random.Random(13), psutil.Process(), []
    questions = [json.loads(events.event(f"call-{number}", rng)) for number in range(CALLS)]
    options = {"kafka": bench.brokers, "requests": requests, "replies": replies, "deadline_s": 60.0}
    with served, Sampler(served) as sampler, RequestReplyClient(**options) as client:
        wait_until_ready(PORT + 2)
        for _ in range(CALL_SLICES):
            start = len(sampler.samples)
            client.call_many(questions)
            medians.append((statistics.median(sampler.since(start)), own.memory_info().rss / 2**20))
            console.log(f"{len(medians) * CALLS:>9,} calls    {medians[-1][0]:6.1f} MiB, client {medians[-1][1]:6.1f}")
        pending = client.counts().pending
    growth_mb, client_mb = (last - warm for last, warm in zip(medians[-1], medians[2], strict=True))
    return {
        "calls": CALL_SLICES * CALLS,
        "pending": pending,
        "growth_mb": round(growth_mb, 1),
        "client_growth_mb": round(client_mb, 1),
    }


def _need_replicas(brokers: str, topic: str, n: int) -> None:
    """Set how many replicas a write needs: two, where there is one, and the broker refuses for the time being."""
    entry = ConfigEntry("min.insync.replicas", str(n), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": brokers, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result(10)


def _delete_topics(bench: Bench) -> None:
    admin = AdminClient({"bootstrap.servers": bench.brokers, "log_level": 0})
    own = [name for name in admin.list_topics(timeout=10).topics if name.startswith(bench.run)]
    for done in admin.delete_topics(own, operation_timeout=30).values():
        done.result(30)


def main() -> int:
    """Measure and print; the exit code is 1 when memory grows."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    n_events = max(3 * SLICE, parser.parse_args().events)
    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        bench = Bench(brokers, Path(folder))
        try:
            found = {"steady": steady(bench, n_events), "stalling_sink": stalling(bench), "asked": asked(bench)}
        finally:
            _delete_topics(bench)
    print(json.dumps(found))
    return int(any(of_one["growth_mb"] >= MOST_GROWTH_MB for of_one in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
