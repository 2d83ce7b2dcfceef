"""One of many callers, which can be killed: `python -m tests.chain.caller BROKERS REQUESTS REPLIES FIRST N RATE`.

It asks for the doubles of N numbers at a steady rate, and tells how far it is; in the end what became of its calls.
"""

import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Any

import psutil

from pelton.errors import PeltonError
from pelton.producers.client import RequestReplyClient

DEADLINE_S = 8.0
GRACE_S = 1.0
TELL_EVERY = 10


class Calls:
    """What became of the calls of one client."""

    def __init__(self, client: RequestReplyClient) -> None:
        self._client = client
        self._futures: list[tuple[int, float, Any]] = []
        self._ended_s: dict[int, float] = {}
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []

    def ask(self, number: int) -> None:
        """Send a question; whatever is raised at once is an end too."""
        began_s = time.monotonic()
        try:
            future = self._client.submit({"x": number}, deadline_s=DEADLINE_S)
        except PeltonError as error:
            self.ends[type(error).__name__] += 1
            return
        future.add_done_callback(lambda _: self._ended_s.setdefault(number, time.monotonic()))
        self._futures.append((number, began_s, future))

    def judge(self) -> None:
        """Wait until every call has ended, and look at each."""
        for number, began_s, future in self._futures:
            try:
                answer = future.result(DEADLINE_S + 5.0)
                self.ends["right"] += answer == 2 * number
                if answer != 2 * number:
                    self.wrong.append(f"{number} was answered by {answer}")
            except PeltonError as error:
                self.ends[type(error).__name__] += 1
            except TimeoutError:
                self.wrong.append(f"{number} never ended")
                continue
            if self._ended_s.get(number, time.monotonic()) - began_s > DEADLINE_S + GRACE_S:
                self.wrong.append(f"{number} ended after its deadline")


def main() -> None:
    brokers, requests, replies, first, n, rate = sys.argv[1:]
    with RequestReplyClient(kafka=brokers, requests=requests, replies=replies, start_s=30.0) as client:
        calls, began_s, own = Calls(client), time.monotonic(), psutil.Process()
        for row in range(int(n)):
            time.sleep(max(0.0, began_s + row / float(rate) - time.monotonic()))
            calls.ask(int(first) + row)
            if row == int(n) // 5:
                early_bytes = own.memory_info().rss
            if row % TELL_EVERY == 0:
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
        calls.judge()
        counts = asdict(client.counts())
        grown_mib = (own.memory_info().rss - early_bytes) / 2**20
    told = {"ends": calls.ends, "wrong": calls.wrong, "counts": counts, "grown_mib": grown_mib}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
