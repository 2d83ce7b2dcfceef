"""`pelton serve` as a process of its own, looked at from outside: by HTTP, by its log, by its exit code."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
import yaml
from confluent_kafka import Consumer

from pelton.deadline import Deadline

T = TypeVar("T")
PATIENCE_S = 40.0
COMMITS_S = 0.7
"""Within this time a worker commits more than once."""
SERVE = [sys.executable, "-m", "pelton.cli", "serve", "--config"]


def eventually(condition: Callable[[], T], within_s: float = PATIENCE_S, otherwise: Callable[[], str] = str) -> T:
    """Wait until the condition holds and return its value; fail when it does not in time."""
    deadline = Deadline.after(within_s)
    while not (value := condition()):
        if deadline.expired:
            pytest.fail(f"it did not come to pass within {within_s:g} s\n{otherwise()}")
        time.sleep(0.02)
    return value


def _environ() -> dict[str, str]:
    """Return the environment without what speaks to the tests: `pelton serve` would take it for a setting."""
    return {name: value for name, value in os.environ.items() if name != "PELTON_CHAOS"}


class Served:
    """One `pelton serve`; a context manager that leaves no process behind."""

    def __init__(self, settings: dict[str, Any], folder: Path, command: Sequence[str] = SERVE) -> None:
        self.settings = settings
        if stream := settings.get("stream"):
            self.sources, self.sink, self.dead_letter = stream["topics"], stream["sink"], stream["dead_letter"]
            self.source, self.group = self.sources[0], stream["group"]
        self._log_file = folder / "serve.log"
        self.config = str(folder / "pelton.yaml")
        Path(self.config).write_text(yaml.safe_dump(settings))
        with self._log_file.open("wb") as log:
            self.process = subprocess.Popen([*command, self.config], stdout=log, stderr=log, cwd=folder, env=_environ())
        self._port = 0

    def __enter__(self) -> "Served":
        return self

    def __exit__(self, *_: object) -> None:
        workers = psutil.Process(self.process.pid).children() if self.process.poll() is None else []
        self.process.kill()
        self.process.wait(PATIENCE_S)
        _, orphans = psutil.wait_procs(workers, 5)
        assert not orphans, "workers outlive their supervisor"

    def eventually(self, condition: Callable[[], T], within_s: float = PATIENCE_S) -> T:
        """Wait until the condition holds and return its value; fail with the log when it never does."""

        def still() -> T:
            value = condition()
            if not value and self.process.poll() is not None:
                pytest.fail(f"it ended with exit code {self.process.returncode}\n{self.log_text()}")
            return value

        return eventually(still, within_s, self.log_text)

    def until_ready(self, within_s: float = PATIENCE_S) -> "Served":
        """Wait until every worker serves."""
        self.eventually(lambda: self.health("ready")[0] == 200, within_s)
        return self

    def health(self, name: str) -> tuple[int, list[str]]:
        """Return the HTTP status of a probe and the reasons given; 0 when nobody listens."""
        status, body = self.get(f"/health/{name}")
        return status, json.loads(body)["reasons"] if body else []

    def status(self) -> dict[str, Any]:
        """Return what `/status` shows."""
        return dict(json.loads(self.get("/status")[1] or "{}"))

    def worker(self, index: int = 0) -> dict[str, Any]:
        """Return what `/status` shows of one worker."""
        return dict(self.status()["workers"][index])

    def pid(self, index: int = 0) -> int:
        """Return the process id of a worker."""
        return int(self.worker(index)["pid"])

    def owned(self, index: int = 0) -> set[int]:
        """Return the partitions of the first source that a worker owns, by its log."""
        owned: set[int] = set()
        for line in self.log("partitions_assigned", "partitions_revoked", "partitions_lost", "worker_state"):
            if line["worker"] != index:
                continue
            numbers = {number for topic, number in line.get("partitions", ()) if topic == self.source}
            if line["event"] == "worker_state":
                owned = set() if line["state"] == "starting" else owned
            else:
                owned = owned | numbers if line["event"] == "partitions_assigned" else owned - numbers
        return owned

    def age_s(self, of: str, index: int = 0) -> float:
        """Return how long ago a worker last polled ("poll"), or how long its "batch" or "oldest_unfinished" lasts."""
        return float(self.worker(index)["ages_s"][of] or 0)

    def lag(self) -> int | None:
        """Return the records left to do over all partitions of all workers, None while one is unknown."""
        lags = [at["lag"] for worker in self.status()["workers"] for at in worker["partitions"]]
        return None if None in lags or not lags else sum(lags)

    def lend_partitions(self, **properties: Any) -> None:
        """Be a member of the group, with the settings of its own, until it has been given partitions."""
        mine = {"group.id": self.group, "enable.auto.commit": False, "log_level": 0}
        member = Consumer(self.settings["kafka"] | mine | properties)
        member.subscribe([self.source])

        def has_some() -> bool:
            member.poll(0.02)
            return bool(member.assignment())

        self.eventually(has_some)
        member.close()

    def metric(self, name: str) -> float:
        """Return a metric's value, added up over workers and labels."""
        lines = self.get("/metrics")[1].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((f"{name}{{", f"{name} ")))

    def labels(self, name: str, label: str) -> list[str]:
        """Return the values of a label that a metric has."""
        pattern = re.compile(rf'^{name}{{.*\b{label}="([^"]*)"', re.MULTILINE)
        return pattern.findall(self.get("/metrics")[1].decode())

    def get(self, path: str, timeout_s: float = 5.0) -> tuple[int, bytes]:
        """Ask the sidecar; status 0 when nobody listens."""
        if not self.port:
            return 0, b""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    @property
    def port(self) -> int:
        """The port of the sidecar, 0 before it listens."""
        if not self._port:
            self._port = next((line["port"] for line in self.log("sidecar_listens")), 0)
        return self._port

    def log(self, *events: str) -> list[dict[str, Any]]:
        """Return the log lines so far, of some events or of all; lines that are no JSON are left out."""
        lines = [
            json.loads(line) for line in self.log_text().splitlines() if line.startswith("{") and line.endswith("}")
        ]
        return [line for line in lines if not events or line.get("event") in events]

    def states(self, index: int = 0) -> list[str]:
        """Return the states that a worker went through."""
        return [line["state"] for line in self.log("worker_state") if line["worker"] == index]

    def log_text(self) -> str:
        """Return all that was logged."""
        return self._log_file.read_text(errors="replace")

    def tell(self, number: int = signal.SIGTERM) -> None:
        """Send a signal to the supervisor."""
        self.process.send_signal(number)

    def kill_worker(self, number: int = signal.SIGKILL, index: int = 0) -> int:
        """Send a signal to a worker and return its process id."""
        pid = self.pid(index)
        os.kill(pid, number)
        return pid

    def ended(self, within_s: float = PATIENCE_S) -> int:
        """Wait for the end and return the exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it did not end within {within_s:g} s\n{self.log_text()}")

    def stop(self, number: int = signal.SIGTERM, within_s: float = PATIENCE_S) -> int:
        """Send a signal, wait for the end and return the exit code."""
        self.tell(number)
        return self.ended(within_s)
