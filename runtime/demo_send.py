"""Sends the demo's records, all at once first and at a steady rate at the end."""

import threading
from collections.abc import Iterator, Sequence

from confluent_kafka import Message

from pelton.demo_records import Planned, Position, Sent
from pelton.errors import DeliveryFailed
from pelton.producers.replay import Replay, Tally, replay_producer

STEADY_PER_S = 1000
STEADY_MOST = 3000


class Sender(threading.Thread):
    """A thread that sends the planned records, and notes where each came to lie.

    With a `rate` all go at so many a second. Without one, most go as fast as possible, which shows the
    throughput, and after `caught_up` is set the last at STEADY_PER_S, which shows the latency.
    """

    def __init__(self, planned: Sequence[Planned], bootstrap: str, topic: str, rate: float) -> None:
        super().__init__(name="demo-send", daemon=True)
        self.planned = planned
        self.sent: list[Sent] = []
        self.times_ms: dict[Position, int] = {}
        self.steady = 0 if rate else min(STEADY_MOST, len(planned) // 10)
        self.burst = len(planned) - self.steady
        self.caught_up = threading.Event()
        self.stopping = threading.Event()
        self._by_key = {record.key.encode(): record for record in planned}
        self._producer = replay_producer({"bootstrap.servers": bootstrap})
        self._topic, self._rate = topic, rate
        self._tally = Tally()

    def run(self) -> None:
        """Send both parts; each ends when the broker has confirmed it."""
        self._replay(self.planned[: self.burst], self._rate)
        while not self.stopping.is_set() and not self.caught_up.wait(0.1):
            pass
        self._replay(self.planned[self.burst :], STEADY_PER_S)

    def _replay(self, part: Sequence[Planned], rate: float) -> None:
        Replay(self._producer, self._topic, rate, self._note, tally=self._tally).run(self._rows(part))

    def _rows(self, part: Sequence[Planned]) -> Iterator[tuple[bytes, bytes]]:
        for record in part:
            if self.stopping.is_set():
                return
            yield record.key.encode(), record.value

    def _note(self, message: Message) -> None:
        position = (message.topic() or "", message.partition() or 0, message.offset() or 0)
        at_ms = message.timestamp()[1]
        self.times_ms[position] = at_ms
        self.sent.append(Sent(self._by_key[message.key() or b""], position, at_ms))

    def check(self) -> None:
        """Raise DeliveryFailed when a record did not reach the broker, or the thread ended before its work."""
        if self._tally.failed:
            raise DeliveryFailed(f"a record could not be sent: {self._tally.why}")
        if not self.is_alive() and len(self.sent) < len(self.planned):
            raise DeliveryFailed(f"only {len(self.sent)} of {len(self.planned)} records were sent")
