"""Asks sidecars for their health and metrics, in a process of its own: `python prober.py ANSWERS_FILE EVERY_S`.

Each line of its input is `NAME PORT`, to ask it from now on, or `NAME`, to ask it no more. Each line of its file is an
answer as JSON, or a time in which this process itself stood still: then no answer could be heard.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

PROBES = ("live", "ready", "startup")
PATHS = {"metrics": "/metrics"} | {probe: f"/health/{probe}" for probe in PROBES}
EVERY_S = 1.0
LIMIT_S = 0.5
"""A probe is answered within this time, not counting what the prober itself stood still meanwhile."""
WAITS_S = 5.0
"""Longer than a probe may take: how long it took must be found out."""
BEAT_S, STILL_S = 0.01, 0.05


class Answer(NamedTuple):
    """One probe and what came of it; times in seconds of `time.monotonic()`, status 0 when nobody answered."""

    name: str
    probe: str
    asked_s: float
    took_s: float
    status: int
    reasons: list[str]


class Stall(NamedTuple):
    """A time in which the prober did not run."""

    from_s: float
    to_s: float


class Prober:
    """The process, as the test holds it; a context manager."""

    def __init__(self, folder: Path, every_s: float = EVERY_S) -> None:
        self._file = folder / "answers"
        command = [sys.executable, "-I", __file__, str(self._file), str(every_s)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)

    def __enter__(self) -> "Prober":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(WAITS_S) == 0

    def watch(self, name: str, port: int) -> None:
        """Ask a sidecar from now on."""
        self._tell(f"{name} {port}")

    def drop(self, name: str) -> None:
        """Ask it no more."""
        self._tell(name)

    def found(self) -> tuple[list[Answer], list[Stall]]:
        """Return the answers, and when the prober stood still; once it has ended."""
        lines = [json.loads(line) for line in self._file.read_text().splitlines()]
        return [Answer(*line) for line in lines if len(line) > 2], [Stall(*line) for line in lines if len(line) == 2]

    def _tell(self, line: str) -> None:
        assert self._process.stdin
        print(line, file=self._process.stdin, flush=True)


def late(answers: Iterable[Answer], stalls: Iterable[Stall]) -> list[Answer]:
    """Return the answers that took too long, not counting what the prober itself stood still."""
    stalls = list(stalls)
    return [answer for answer in answers if net_s(answer, stalls) > LIMIT_S]


def net_s(answer: Answer, stalls: Iterable[Stall]) -> float:
    """Return how long an answer took while the prober ran."""
    return answer.took_s - stood_still(stalls, answer.asked_s, answer.asked_s + answer.took_s)


def stood_still(stalls: Iterable[Stall], from_s: float, to_s: float) -> float:
    """Return how much of a time the prober did not run."""
    return sum(max(0.0, min(to_s, stall.to_s) - max(from_s, stall.from_s)) for stall in stalls)


async def ask(port: int, path: str) -> tuple[int, list[str]]:
    try:
        async with asyncio.timeout(WAITS_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET %b HTTP/1.0\r\n\r\n" % path.encode())
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return 0, []
    if not body:
        return 0, []
    return int(head.split()[1]), json.loads(body)["reasons"] if path.startswith("/health") else []


async def probe_one(name: str, port: int, probe: str, every_s: float, file: TextIO) -> None:
    due_s = time.monotonic()
    while True:
        asked_s = time.monotonic()
        status, reasons = await ask(port, PATHS[probe])
        write(file, name, probe, asked_s, time.monotonic() - asked_s, status, reasons)
        due_s = max(due_s + every_s, time.monotonic())
        await asyncio.sleep(due_s - time.monotonic())


async def beat(file: TextIO) -> None:
    while True:
        began_s = time.monotonic()
        await asyncio.sleep(BEAT_S)
        if (ended_s := time.monotonic()) - began_s > STILL_S:
            write(file, began_s, ended_s)


def write(file: TextIO, *line: Any) -> None:
    file.write(json.dumps(line) + "\n")


async def main(file: TextIO, every_s: float) -> None:
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    beating = asyncio.create_task(beat(file))
    asking: dict[str, list[asyncio.Task[None]]] = {}
    while order := (await orders.readline()).decode().split():
        name, *port = order
        for task in asking.pop(name, []):
            task.cancel()
        if port:
            asking[name] = [asyncio.create_task(probe_one(name, int(port[0]), probe, every_s, file)) for probe in PATHS]
    beating.cancel()


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w") as answers:
        asyncio.run(main(answers, float(sys.argv[2])))
