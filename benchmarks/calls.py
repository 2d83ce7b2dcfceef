"""Calls a second of one client against a replier by hand: `python -m benchmarks.calls BROKERS`."""

import asyncio
import resource
import subprocess
import sys
import time
import uuid
from pathlib import Path

from pelton.producers.client import AsyncRequestReplyClient, RequestReplyClient
from pelton.topics import create

ECHO = Path(__file__).resolve().parent.parent / "tests" / "broker" / "echo.py"
CALLS = 30_000
ONE_BY_ONE = 500
ROUNDS = 3


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def report(kind: str, began_s: float, began_cpu_s: float, n: int) -> None:
    whole_s, used_s = time.perf_counter() - began_s, cpu_s() - began_cpu_s
    print(f"{kind}: {n / whole_s:,.0f} calls/s, {used_s / n * 1e6:.1f} µs of CPU a call")


def threaded(options: dict[str, str]) -> None:
    with RequestReplyClient(**options) as client:
        client.call_many(range(1000))
        for _ in range(ROUNDS):
            began = time.perf_counter(), cpu_s()
            assert client.call_many(range(CALLS)) == list(range(0, 2 * CALLS, 2))
            report("call_many", *began, CALLS)
        waits = []
        for number in range(ONE_BY_ONE):
            began_s = time.perf_counter()
            client.call(number)
            waits.append((time.perf_counter() - began_s) * 1000)
        waits.sort()
        print(f"one by one: p50 {waits[len(waits) // 2]:.1f} ms, p99 {waits[len(waits) * 99 // 100]:.1f} ms")


async def on_a_loop(options: dict[str, str]) -> None:
    async with AsyncRequestReplyClient(**options) as client:
        for _ in range(ROUNDS):
            began = time.perf_counter(), cpu_s()
            assert await client.call_many(range(CALLS)) == list(range(0, 2 * CALLS, 2))
            report("await call_many", *began, CALLS)


def main(brokers: str) -> None:
    own = uuid.uuid4().hex[:8]
    options = {"kafka": brokers, "requests": f"bench-requests-{own}", "replies": f"bench-replies-{own}"}
    create(brokers, {options["requests"]: 4, options["replies"]: 4})
    command = [sys.executable, str(ECHO), brokers, options["requests"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        echo.stdout.readline()
        threaded(options)
        asyncio.run(on_a_loop(options))
        echo.stdin.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
