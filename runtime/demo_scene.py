"""The stage of the demo: a Kafka, topics and a `pelton serve`, set up, and taken down whatever happens."""

import json
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from confluent_kafka import Consumer, KafkaException, TopicPartition

from pelton import topics
from pelton.deadline import Deadline
from pelton.errors import DemoFailed
from pelton.kafka_config import choose_ports
from pelton.kafka_process import launch
from pelton.local_kafka import LocalKafka

PARTITIONS = 4
READY_S = 120.0
DRAIN_S = 25.0
LEFTOVER_S = 3600.0


@dataclass(frozen=True, slots=True)
class Names:
    """The topics of one run, which no other run has."""

    events: str
    scores: str
    dead_letters: str
    group: str

    @classmethod
    def of(cls, run: str) -> Self:
        """Return the names for the run called `run`."""
        return cls(f"flights-{run}", f"scores-{run}", f"dead-letters-{run}", f"demo-{run}")


class Scene:
    """The processes of one run, with all their files in a folder of its own below `home`.

    With `keep` the broker and the folder stay after a good run; else the broker is gone after it, however it ends.
    """

    def __init__(self, home: Path, model: str, *, keep: bool = False) -> None:
        self.run = time.strftime("%m%d-%H%M%S-") + secrets.token_hex(2)
        self.folder = home / self.run
        self.names = Names.of(self.run)
        self.settings = self.folder / "pelton.yaml"
        self.serve_log = self.folder / "serve.log"
        self.kafka = LocalKafka(self.folder / "kafka")
        self.status_url = ""
        self._serve_began_s = 0.0
        self._model, self._keep = model, keep
        self._serve: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        _clear_leftovers(self.folder.parent)
        self.folder.mkdir(parents=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop_serve(grace_s=5.0)
        finally:
            if kind or not self._keep:
                self.kafka.down()
                self.kafka.delete_data()
            # A failed run leaves its logs, which tell why; an interrupted one has nothing to tell.
            if kind is KeyboardInterrupt or not (kind or self._keep):
                shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def farewell(self) -> str:
        """Return how to look at what a kept run leaves behind, and how to be rid of it."""
        folder = self.folder / "kafka"
        return (
            f"Kafka is still up. See the scores: pelton scores --topic {self.names.scores} --table --brokers "
            f"{self.kafka.bootstrap}\nEnd it: pelton kafka down --data-dir {folder} --delete-data"
        )

    def start_kafka(self) -> str:
        """Start the broker, create the topics, and return the bootstrap address."""
        bootstrap = self.kafka.up(detach=self._keep)
        names = (self.names.events, self.names.scores, self.names.dead_letters)
        topics.create(bootstrap, dict.fromkeys(names, PARTITIONS))
        return bootstrap

    def start_serve(self) -> None:
        """Write a settings file and start `pelton serve` on it, as anybody would."""
        port = _free_port()
        self.status_url = f"http://127.0.0.1:{port}"
        self.settings.write_text(yaml.safe_dump(self._settings(port), sort_keys=False))
        command = [sys.executable, "-m", "pelton.cli", "serve", "--config", str(self.settings)]
        self._serve_began_s = time.monotonic()
        self._serve = launch(command, self.serve_log, owned=True)
        self._wake_groups()

    def _wake_groups(self) -> None:
        # A new broker makes its offsets topic when first asked for one: let it do so while the model loads.
        consumer = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": self.names.group})
        with suppress(KafkaException):
            consumer.committed([TopicPartition(self.names.events, 0)], timeout=10.0)
        consumer.close()

    def _settings(self, port: int) -> dict[str, Any]:
        names = self.names
        return {
            "kafka": {"bootstrap.servers": self.kafka.bootstrap},
            "model": self._model,
            "stream": {
                "topics": [names.events],
                "group": names.group,
                "sink": names.scores,
                "dead_letter": names.dead_letters,
            },
            "sidecar": {"port": port},
            "log": {"format": "json"},
        }

    def await_ready(self) -> float:
        """Wait until `pelton serve` is ready and return the seconds since its start; raises DemoFailed."""
        deadline = Deadline.after(READY_S)
        while not self._is_ready():
            self.check_serve()
            if deadline.expired:
                raise DemoFailed(f"pelton serve was not ready within {READY_S:g} s; {self._last_words()}")
            time.sleep(0.05)
        return time.monotonic() - self._serve_began_s

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.status_url}/health/ready", timeout=1.0):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def check_serve(self) -> None:
        """Raise DemoFailed, with what it said last, when `pelton serve` has ended."""
        if self._serve and self._serve.poll() is not None:
            raise DemoFailed(f"pelton serve ended with code {self._serve.returncode}; {self._last_words()}")

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = self.serve_log.read_text(errors="replace").splitlines()
            return f"the last lines of {self.serve_log}:\n" + "\n".join(lines[-8:])
        return f"see {self.serve_log}"

    def status(self) -> dict[str, Any]:
        """Return what the sidecar's /status shows, empty when it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.status_url}/status", timeout=1.0) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (OSError, ValueError):
            return {}

    def end_serve(self) -> None:
        """Ask `pelton serve` to drain; raises DemoFailed when it does not, or does not end with 0."""
        code = self._stop_serve(DRAIN_S + 5.0)
        if code != 0:
            raise DemoFailed(f"pelton serve did not drain and end with 0 but with {code}; {self._last_words()}")

    def _stop_serve(self, grace_s: float) -> int:
        serve, self._serve = self._serve, None
        if serve is None:
            return 0
        serve.terminate()
        try:
            return serve.wait(grace_s)
        except subprocess.TimeoutExpired:
            serve.kill()
            return serve.wait(10.0)


def _clear_leftovers(home: Path) -> None:
    """Delete the topics of earlier runs that were killed, unless their broker is up or they are quite young."""
    for folder in home.glob("*/kafka"):
        kafka = LocalKafka(folder)
        if time.time() - folder.stat().st_mtime > LEFTOVER_S and not kafka.status().running:
            kafka.delete_data()


def _free_port() -> int:
    return choose_ports(None, None).client
