"""Reads the sink and the dead letters while the demo runs, and measures."""

import statistics
import threading
from collections import deque
from collections.abc import Mapping

from confluent_kafka import KafkaException

from pelton.demo_records import DeadLetter, Position, Scored, read_dead_letter, read_score
from pelton.errors import DemoFailed, KafkaFailure
from pelton.topic_reader import TopicReader

RECENT = 2000


class Watcher(threading.Thread):
    """A thread that collects every record of the two topics.

    `scored` and `dead` only grow.
    """

    def __init__(self, bootstrap: str, scores: str, dead_letters: str) -> None:
        super().__init__(name="demo-watch", daemon=True)
        self.scored: list[Scored] = []
        self.dead: list[DeadLetter] = []
        self.failure: Exception | None = None
        self._reader = TopicReader({"bootstrap.servers": bootstrap}, [scores, dead_letters])
        self._scores = scores
        self._ending = threading.Event()

    def run(self) -> None:
        """Read until told to finish, then up to the end."""
        try:
            while not self._ending.is_set():
                self._take()
            self._reader.look_again()
            while not self._reader.at_end:
                self._take()
        except (KafkaFailure, KafkaException) as error:
            self.failure = error
        finally:
            self._reader.close()

    def _take(self) -> None:
        for message in self._reader.read():
            if message.topic() == self._scores:
                self.scored.append(read_score(message))
            else:
                self.dead.append(read_dead_letter(message))

    @property
    def count(self) -> int:
        """Return how many records came, scores and dead letters."""
        return len(self.scored) + len(self.dead)

    def finish(self, timeout_s: float = 30.0) -> None:
        """Read what is left and end; raises what went wrong in the thread."""
        self._ending.set()
        self.join(timeout_s)
        if self.failure or self.is_alive():
            raise DemoFailed(f"the topics could not be read to their end: {self.failure or 'no answer'}")

    def latencies_ms(self, sent_ms: Mapping[Position, int]) -> list[int]:
        """Return the times from input record to score record of the last scores."""
        pairs = ((sent_ms.get(s.position), s.timestamp_ms) for s in self.scored[-RECENT:] if s.position)
        return [scored_ms - then_ms for then_ms, scored_ms in pairs if then_ms is not None]


class Throughput:
    """Records a second over the last two seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, at_s: float, count: int) -> float:
        """Take the running count at a moment and return the rate."""
        self._seen.append((at_s, count))
        while len(self._seen) > 2 and at_s - self._seen[0][0] > 2.0:
            self._seen.popleft()
        (then_s, then) = self._seen[0]
        return (count - then) / (at_s - then_s) if at_s > then_s else 0.0


def percentiles(values: list[int]) -> tuple[float, float] | None:
    """Return the 50th and 99th percentile, or None of fewer than two values."""
    if len(values) < 2:
        return None
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return cuts[49], cuts[98]
