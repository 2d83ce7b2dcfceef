"""The demo: real flights through a real Kafka and a real `pelton serve`, and a checked result."""

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from pelton.demo_plan import plan
from pelton.demo_records import Planned
from pelton.demo_report import measure, print_report
from pelton.demo_scene import Scene
from pelton.demo_send import Sender
from pelton.demo_summary import Evidence, check
from pelton.demo_view import Snapshot, View
from pelton.demo_watch import Throughput, Watcher, percentiles
from pelton.errors import DemoFailed
from pelton.models.package_code import import_file
from pelton.models.repository import find_package

MODEL = "flight-delay"
UNSEEN_MONTHS = range(9, 13)
SILENCE_S = 30.0
LOOK_EVERY_S = 0.2
OFFLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Options:
    """What `pelton demo` was asked for: `rate` in events a second, 0 for a burst and a steady end."""

    events: int = 50_000
    rate: float = 0.0
    keep: bool = False
    plain: bool = False
    home: Path = Path(".pelton/demo")


def run(options: Options) -> None:
    """Run the whole demo and print its result.

    Raises DemoFailed when a check does not hold, or something ends before its time; LocalKafkaError or
    KafkaFailure when Kafka does.
    """
    console = Console()
    plain = options.plain or not console.is_terminal
    with Scene(options.home, MODEL, keep=options.keep) as scene:
        with View(console, plain=plain) as view:
            planned = _set_up(options, scene, view)
            sender, watcher = _play(options, scene, view, planned)
            evidence = Evidence(sender.sent, watcher.scored, watcher.dead, _offline(planned, scene.folder))
            findings = check(evidence)
            view.step("the same flights are scored offline, and compared")
        print_report(console, evidence, measure(sender.sent, watcher.scored, sender.burst), findings)
        if findings:
            raise DemoFailed(f"{len(findings)} findings; the logs are in {scene.folder}")
    if options.keep:
        console.print(scene.farewell, highlight=False, soft_wrap=True)


def _set_up(options: Options, scene: Scene, view: View) -> list[Planned]:
    with ThreadPoolExecutor(1) as pool:
        planning = pool.submit(_plan, options.events)
        view.step("starting Kafka; the very first time it is fetched, which takes about half a minute")
        view.step(f"Kafka is up at {scene.start_kafka()}")
        planned = planning.result()
    scene.start_serve()
    view.step(f"$ pelton serve --config {scene.settings}")
    view.step(f"ready after {scene.await_ready():.1f} s; {scene.status_url}/status tells how it is")
    return planned


def _plan(events: int) -> list[Planned]:
    flights: Any = import_file(find_package(MODEL), "flights")
    return plan(flights.flights(UNSEEN_MONTHS), events)


def _play(options: Options, scene: Scene, view: View, planned: Sequence[Planned]) -> tuple[Sender, Watcher]:
    names, bootstrap = scene.names, scene.kafka.bootstrap
    watcher = Watcher(bootstrap, names.scores, names.dead_letters)
    sender = Sender(planned, bootstrap, names.events, options.rate)
    watcher.start()
    sender.start()
    view.step(f"sending {len(planned):,} records to {names.events}")
    try:
        _look_on(scene, view, sender, watcher)
        scene.end_serve()
        view.step("pelton serve has drained and ended")
    finally:
        sender.stopping.set()
        watcher.finish()
    return sender, watcher


def _look_on(scene: Scene, view: View, sender: Sender, watcher: Watcher) -> None:
    """Show how it goes until every record has its answer, or none came for SILENCE_S though some are due."""
    throughput, seen, heard_s = Throughput(), -1, time.monotonic()
    while watcher.count < len(sender.planned):
        scene.check_serve()
        sender.check()
        now_s, count = time.monotonic(), watcher.count
        if count >= sender.burst:
            sender.caught_up.set()
        if count != seen or count >= len(sender.sent):
            seen, heard_s = count, now_s
        if watcher.failure or now_s - heard_s > SILENCE_S:
            return
        view.show(_snapshot(scene, sender, watcher, throughput.add(now_s, count)))
        time.sleep(LOOK_EVERY_S)


def _snapshot(scene: Scene, sender: Sender, watcher: Watcher, per_s: float) -> Snapshot:
    return Snapshot(
        total=len(sender.planned),
        sent=len(sender.sent),
        scored=len(watcher.scored),
        dead_letters=len(watcher.dead),
        per_s=per_s,
        lag=_lag(scene.status()),
        latency_ms=percentiles(watcher.latencies_ms(sender.times_ms)),
        last=watcher.scored[-6:],
    )


def _lag(status: dict[str, Any]) -> int | None:
    lags = [part["lag"] for worker in status.get("workers", ()) for part in worker["partitions"]]
    return sum(lags) if lags and None not in lags else None


def _offline(planned: Sequence[Planned], folder: Path) -> dict[str, float]:
    events, out = folder / "events.jsonl", folder / "offline.json"
    events.write_bytes(b"".join(record.value + b"\n" for record in planned if record.code is None))
    command = [sys.executable, "-m", "pelton.demo_offline", MODEL, str(events), str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=OFFLINE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise DemoFailed(f"offline scoring took more than {OFFLINE_S:g} s") from error
    if done.returncode:
        raise DemoFailed(f"offline scoring failed: {done.stderr.strip().splitlines()[-1:]}")
    scores: dict[str, float] = msgspec.json.decode(out.read_bytes())
    return scores
