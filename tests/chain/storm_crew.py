"""The workers of a storm: `pelton serve` processes of one worker each, or others of the same shape."""

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.broker.served import SERVE, Served, eventually

ALIKE_S = 60.0


class Crew:
    """Starts and ends workers, and knows which of them have partitions; a context manager that leaves none behind."""

    def __init__(self, settings: Callable[[int], dict[str, Any]], folder: Path, command: Sequence[str] = SERVE) -> None:
        self.members: list[Served] = []
        self.all: list[Served] = []
        """Also those that have ended: their logs tell what happened."""
        self._settings, self._folder, self._command = settings, folder, command
        self._stack = ExitStack()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self) -> Served:
        """Start one more; it may take its time until it has partitions."""
        number = len(self.all)
        folder = self._folder / f"worker-{number}"
        folder.mkdir()
        served = self._stack.enter_context(Served(self._settings(number), folder, self._command))
        self.members.append(served)
        self.all.append(served)
        return served

    def holder(self, rng: random.Random, at_least: int = 2) -> Served:
        """Wait until some workers have partitions, and choose one of them."""

        def found() -> list[Served]:
            ended = [served for served in self.members if served.process.poll() is not None]
            assert not ended, f"ended by itself:\n{ended[0].log_text()}"
            holders = [served for served in self.members if holds(served)]
            return holders if len(holders) >= min(at_least, len(self.members)) else []

        return rng.choice(eventually(found, ALIKE_S, self.logs))

    def replaced(self, victim: Served) -> bool:
        """Tell whether others have all the partitions that a frozen worker thinks it has."""
        others = [served.owned() for served in self.members if served is not victim]
        return victim.owned() <= set().union(*others)

    def remove(self, served: Served) -> None:
        """Have a worker drain and end."""
        self.members.remove(served)
        assert served.stop() == 0, served.log_text()

    def dismiss(self) -> None:
        """Have all drain at once."""
        for served in self.members:
            served.tell()
        for served in self.members:
            assert served.ended() == 0, served.log_text()

    def logs(self) -> str:
        """Return what each worker says of itself, and the end of its log."""
        told = [(served.status().get("workers"), served.log_text().splitlines()[-40:]) for served in self.all]
        return "\n\n".join("\n".join([str(status), *lines]) for status, lines in told)


def holds(served: Served) -> bool:
    """Tell whether a worker is ready and has partitions."""
    workers = served.status().get("workers", [])
    return any(worker["state"] == "ready" and worker["partitions"] for worker in workers)


@contextmanager
def frozen(served: Served) -> Iterator[None]:
    """Freeze the worker, not its supervisor, inside the block."""
    pid = served.kill_worker(signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
