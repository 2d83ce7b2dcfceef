"""Addresses on the loopback, and what answers there."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0


class CheckFailed(Exception):
    """What was to be checked does not hold."""


def free_port() -> int:
    """Return a port of the loopback that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def get(url: str, **query: str) -> bytes:
    """Return what answers at a loopback URL; raises CheckFailed when that is an error."""
    asked = f"{url}?{urllib.parse.urlencode(query)}" if query else url
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise CheckFailed(f"{asked}: {error.code} {error.read().decode(errors='replace')}") from error


def get_json(url: str, **query: str) -> Any:
    """Return the JSON that answers at a loopback URL; raises CheckFailed when that is an error."""
    return json.loads(get(url, **query))


def until(what: str, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Wait until a condition holds; raises CheckFailed when it does not in time."""
    ends_s = time.monotonic() + within_s
    while True:
        try:
            if condition():
                return
        except (OSError, CheckFailed):
            pass
        if time.monotonic() > ends_s:
            raise CheckFailed(f"not within {within_s:g} s: {what}")
        time.sleep(0.1)


class Program:
    """A program that runs inside a `with` block, its output in a file."""

    def __init__(self, command: list[str], log: Path, **options: Any) -> None:
        self.log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, **options)

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)

    @property
    def last_words(self) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-2000:]
