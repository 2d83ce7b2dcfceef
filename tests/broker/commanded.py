"""The commands of `pelton` that ask a broker, run side by side as processes."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PELTON = [sys.executable, "-m", "pelton.cli"]


class Ended(NamedTuple):
    """What became of a command."""

    command: str
    code: int
    output: str
    took_s: float


@contextmanager
def running(commands: list[list[str]], config: Path, timeout_s: float = 50) -> Iterator[Iterator[Ended]]:
    """Run commands with a settings file; gives what became of each, in order, as they end."""

    def run(command: list[str]) -> Ended:
        whole, began_s = [*PELTON, *command, "-c", str(config)], time.monotonic()
        done = subprocess.run(whole, check=False, capture_output=True, text=True, cwd=config.parent, timeout=timeout_s)
        return Ended(" ".join(command), done.returncode, done.stdout + done.stderr, time.monotonic() - began_s)

    with ThreadPoolExecutor(len(commands)) as pool:
        yield pool.map(run, commands)
