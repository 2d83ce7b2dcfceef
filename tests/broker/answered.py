"""A request topic that is answered by hand, for callers' tests."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Answered:
    """Topics, and what a client of them is told."""

    brokers: str
    requests: str
    replies: str

    def options(self, **changes: Any) -> dict[str, Any]:
        """Return the options of a client; it is patient, so that a slow machine fails no test."""
        here = {"kafka": self.brokers, "requests": self.requests, "replies": self.replies}
        return {**here, "deadline_s": 30.0, "start_s": 30.0, **changes}

    def start(self, script: str, *arguments: object) -> "subprocess.Popen[str]":
        """Start a caller of its own."""
        return start(script, self.brokers, self.requests, self.replies, *arguments)


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start a script that lies here."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def echoing(brokers: str, topic: str) -> Iterator[None]:
    """Let a replier answer a topic; see `echo.py`."""
    with start("echo.py", brokers, topic) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        assert echo.stdout.readline() == "ready\n"
        yield
        echo.stdin.close()
