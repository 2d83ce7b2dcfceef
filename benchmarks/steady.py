"""Calls at a steady rate, and how long each took from when it was due."""

import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

from pelton.producers.client import RequestReplyClient


def latency_ms(
    client: RequestReplyClient, events: Sequence[Any], rate: float, seconds: float, deadline_s: float = 60.0
) -> tuple[float, float]:
    """Call so many times a second, and return p50 and p99 from the due time to the answer, in milliseconds."""
    took_ms: list[float] = []
    ended = threading.Semaphore(0)
    start_s, n = time.monotonic() + 0.2, int(rate * seconds)
    for number in range(n):
        due_s = start_s + number / rate
        time.sleep(max(0.0, due_s - time.monotonic()))

        def note(future: Any, due_s: float = due_s) -> None:
            future.result(0)
            took_ms.append((time.monotonic() - due_s) * 1000)
            ended.release()

        client.submit(events[number % len(events)]).add_done_callback(note)
    if not all(ended.acquire(timeout=deadline_s) for _ in range(n)):
        raise SystemExit(f"{len(took_ms)} of {n} answers came")
    ranks = statistics.quantiles(took_ms, n=100)
    return ranks[49], ranks[98]
