"""The process of a local Kafka: started so that it outlives nobody by accident, found again, ended."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

from pelton.errors import LocalKafkaError

# Runs as the broker's first program and becomes Java by exec, so that pid, parent and signal stay the same.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the program that started this Kafka has ended")
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker process: its pid and when it started, which together no other process can have."""

    pid: int
    started_s: float
    properties: str

    @classmethod
    def of(cls, pid: int, properties: Path) -> Self:
        """Return the broker just started with this pid; when it has ended already, it is not alive."""
        started_s = 0.0
        with suppress(psutil.Error):
            started_s = psutil.Process(pid).create_time()
        return cls(pid, started_s, str(properties))

    @classmethod
    def read(cls, path: Path, properties: Path) -> Self | None:
        """Return the broker a pid file names if that process lives and is our broker, else None."""
        try:
            fields = json.loads(path.read_text())
            broker = cls(int(fields["pid"]), float(fields["started_s"]), str(properties))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return broker if broker.alive else None

    def write(self, path: Path) -> None:
        """Write the pid file whole or not at all."""
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({"pid": self.pid, "started_s": self.started_s}))
        partial.replace(path)

    @property
    def alive(self) -> bool:
        """Tell whether the process lives and still is this broker, not a stranger with a recycled pid."""
        try:
            process = psutil.Process(self.pid)
            # The kernel's boot time, which psutil adds, moves by a second when the clock is corrected.
            same = abs(process.create_time() - self.started_s) < 2
            command = process.cmdline()
            # For a moment, while the process becomes Java, the kernel shows no command line at all.
            return same and (not command or {"kafka.Kafka", self.properties} <= set(command))
        except psutil.Error:
            return False

    @property
    def resident_bytes(self) -> int:
        """Return the memory it holds, 0 when it has ended."""
        with suppress(psutil.Error):
            return int(psutil.Process(self.pid).memory_info().rss)
        return 0

    def end(self, grace_s: float) -> None:
        """End the process: asked at first, killed when it has not gone after `grace_s`."""
        if grace_s > 0 and self._signal(signal.SIGTERM) and self._gone(grace_s):
            return
        if self._signal(signal.SIGKILL) and not self._gone(30.0):
            raise LocalKafkaError(f"the Kafka process {self.pid} cannot be ended")

    def _signal(self, number: signal.Signals) -> bool:
        with suppress(psutil.Error):
            if self.alive:
                psutil.Process(self.pid).send_signal(number)
                return True
        return False

    def _gone(self, timeout_s: float) -> bool:
        try:
            psutil.Process(self.pid).wait(timeout_s)
        except psutil.TimeoutExpired:
            return not self.alive
        except psutil.Error:
            return True
        return True


@dataclass(frozen=True, slots=True)
class KafkaStatus:
    """What is known of a local Kafka from its data folder and the process table."""

    running: bool
    bootstrap: str | None
    pid: int | None = None
    started_s: float | None = None
    """Seconds since the epoch."""
    resident_bytes: int = field(default=0, compare=False)


def launch(command: Sequence[str], log_file: Path, *, owned: bool) -> subprocess.Popen[bytes]:
    """Start a command with its output in a file; an owned one is killed by the kernel when this process ends.

    Either kind has a session of its own, so that Ctrl-C in the terminal does not reach it.
    Raises LocalKafkaError when it cannot be started.
    """
    if owned:
        command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
    started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
    # The kernel ties an owned process to the thread that started it: that thread must live as long as we do.
    threading.Thread(target=_keep, args=(command, log_file, started), name="local-kafka", daemon=True).start()
    process = started.get()
    if isinstance(process, OSError):
        raise LocalKafkaError(f"cannot start Java: {process}") from process
    return process


def _keep(
    command: Sequence[str], log_file: Path, started: "queue.SimpleQueue[subprocess.Popen[bytes] | OSError]"
) -> None:
    try:
        with log_file.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        started.put(error)
        return
    started.put(process)
    process.wait()
