"""The contenders as processes: started, waited for, measured and ended."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import yaml


class Contender:
    """A process under test; ended by SIGTERM when the block is left."""

    def __init__(self, command: list[str]) -> None:
        self.started_s = time.monotonic()
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        self._process.send_signal(number)

    def rss_mb(self) -> float:
        """Return the resident memory of the process and its children, in MiB."""
        process = psutil.Process(self._process.pid)
        family = [process, *process.children(recursive=True)]
        return sum(member.memory_info().rss for member in family) / 2**20

    def cpu_s(self) -> float:
        """Return the CPU seconds of the process and its children so far."""
        process = psutil.Process(self._process.pid)
        family = [process, *process.children(recursive=True)]
        return sum(times.user + times.system for times in (member.cpu_times() for member in family))


def by_hand(module: str, brokers: str, topic: str, sink: str, group: str) -> Contender:
    """Start one of the scripts beside this file."""
    return Contender([sys.executable, "-m", f"benchmarks.{module}", brokers, topic, sink, group])


def pelton(folder: Path, brokers: str, topic: str, sink: str, group: str, port: int, **settings: object) -> Contender:
    """Start `pelton serve` with its default settings, but for those given."""
    config = {
        "kafka": {"bootstrap.servers": brokers},
        "model": os.fspath(Path("benchmarks/mlp/1").absolute()),
        "stream": {"topics": [topic], "group": group, "sink": sink},
        "sidecar": {"port": port},
        # As many events at once as the hand-written loop takes.
        "batch": {"max_size": 512},
        "log": {"level": "warning"},
        **settings,
    }
    path = folder / f"{group}.yaml"
    path.write_text(yaml.safe_dump(config))
    return Contender([sys.executable, "-m", "pelton.cli", "serve", "--config", os.fspath(path)])


def wait_until_ready(port: int, timeout_s: float = 60) -> float:
    """Wait until the sidecar says ready, and return when that was, on the monotonic clock."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=1) as answer:
                if answer.status == 200:
                    return time.monotonic()
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.02)
    raise TimeoutError("pelton did not become ready")
