"""Batches against theory: a model that takes 20 + 2n ms for n events, asked by 64 callers one call after the other.

With batches of b the model does b / (20 + 2b) events a millisecond: 45/s at 1, 143/s at 4, 381/s at 32. What is served
should come near, since a batch is formed when the device is free, and all who wait are in it.

Usage: python -m benchmarks.batch_policy
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import pelton, wait_until_ready
from benchmarks.run import broker
from pelton.producers.client import RequestReplyClient
from pelton.topics import create

CALLERS = 64
SECONDS, WARM_S = 8.0, 3.0
SIZES = (1, 4, 32)
PORT = 18_590
FIXED_MS, EACH_MS = 20, 2


def theory_per_s(size: int) -> float:
    """Return the calls a second when every batch is full."""
    return size / (FIXED_MS + EACH_MS * size) * 1000


@contextmanager
def timed_model(
    brokers: str, folder: Path, name: str, size: int, port: int, **requests: Any
) -> Iterator[RequestReplyClient]:
    """Serve the model with batches of at most `size`, and yield a client; the stream comes from the topic `name`-r."""
    create(brokers, dict.fromkeys((name, f"{name}-a", f"{name}-r", f"{name}-s", f"{name}-s-dead-letters"), 1))
    settings = {
        "requests": {"topics": [name], "group": f"{name}-group", "reply_topics": [f"{name}-a"], **requests},
        "model": str(Path("benchmarks/timed/1").absolute()),
        "batch": {"max_size": size},
    }
    served = pelton(folder, brokers, f"{name}-r", f"{name}-s", name, port, **settings)
    options = {"kafka": brokers, "requests": name, "replies": f"{name}-a", "deadline_s": 60.0}
    with served, RequestReplyClient(**options) as client:
        wait_until_ready(port)
        yield client


def measured_per_s(brokers: str, folder: Path, size: int) -> float:
    """Serve with batches of at most `size`, let everybody call, and count the answers of a few seconds."""
    with timed_model(brokers, folder, f"policy-{size}-{time.time_ns()}", size, PORT) as client:
        over = threading.Event()
        counts = [0] * CALLERS

        def call(number: int) -> None:
            while not over.is_set():
                client.call({"x": number})
                counts[number] += 1

        threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
        for thread in threads:
            thread.start()
        time.sleep(WARM_S)
        before, began_s = sum(counts), time.monotonic()
        time.sleep(SECONDS)
        per_s = (sum(counts) - before) / (time.monotonic() - began_s)
        over.set()
        for thread in threads:
            thread.join()
    return per_s


def main() -> None:
    found = {}
    with broker() as brokers, tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            per_s, theory = measured_per_s(brokers, Path(folder), size), theory_per_s(size)
            print(f"batches of {size:>2}: {per_s:6.1f} calls/s, in theory {theory:6.1f}", file=sys.stderr)
            found[size] = {"per_s": round(per_s, 1), "theory_per_s": round(theory, 1)}
    print(json.dumps({"batch_policy": found}))


if __name__ == "__main__":
    main()
