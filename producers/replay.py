"""Send rows into a topic at a steady rate, and count what the broker confirmed."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from pelton.deadline import Deadline
from pelton.silent_log import silent_log

_silent = silent_log("pelton.producers.replay.librdkafka")

DELIVERY_S = 60.0
"""Seconds after which a row that the broker never confirmed counts as failed."""


def replay_producer(kafka: Mapping[str, Any]) -> Producer:
    """Return an idempotent producer that places keys where Java's default partitioner does.

    `kafka` holds librdkafka properties such as `bootstrap.servers`.
    """
    properties = {
        "partitioner": "murmur2_random",
        "linger.ms": 5,
        "compression.type": "lz4",
        **kafka,
        "enable.idempotence": True,
        "message.timeout.ms": int(DELIVERY_S * 1000),
    }
    return Producer(properties, logger=_silent)


class Outgoing(Protocol):
    """The part of confluent_kafka.Producer that a replay uses; tests pass a fake."""

    def produce(self, topic: str, *, value: bytes | None, key: bytes | None, on_delivery: Any) -> None:
        """Queue one record, or raise BufferError where the queue is full."""

    def poll(self, timeout: float, /) -> int:
        """Serve delivery reports for up to `timeout` seconds."""

    def __len__(self) -> int:
        """Return how many records are not confirmed yet."""


class Pacer:
    """A bucket of permits that fills at `rate` a second and holds a twentieth of a second's worth."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._room = max(1.0, rate / 20)
        self._permits = 1.0
        self._filled_s = clock()

    def wait_s(self) -> float:
        """Take one permit and return 0, or take none and return the seconds until there is one."""
        if not self._rate:
            return 0.0
        now = self._clock()
        self._permits = min(self._room, self._permits + (now - self._filled_s) * self._rate)
        self._filled_s = now
        if self._permits < 1.0 - 1e-6:
            return (1.0 - self._permits) / self._rate
        self._permits -= 1.0
        return 0.0


@dataclass(slots=True)
class Tally:
    """What became of the rows so far; `why` is the reason of the first that failed."""

    taken: int = 0
    delivered: int = 0
    failed: int = 0
    why: str = ""

    @property
    def open(self) -> int:
        """Return how many rows have no delivery report yet."""
        return self.taken - self.delivered - self.failed

    def fail(self, why: str) -> None:
        """Count one row that will not arrive."""
        self.failed += 1
        self.why = self.why or why


@dataclass(slots=True)
class Replay:
    """One run of rows into `topic`, at `rate` rows a second, or as fast as the broker takes them at 0.

    The first row that fails ends it, since later ones would leave a gap. `on_delivered` gets each row that
    arrived. Records carry no event time: theirs is the clock of this producer.
    """

    producer: Outgoing
    topic: str
    rate: float = 0.0
    on_delivered: Callable[[Message], None] | None = None
    clock: Callable[[], float] = time.monotonic
    tally: Tally = field(default_factory=Tally)

    def run(self, rows: Iterable[tuple[bytes | None, bytes | None]]) -> Tally:
        """Send `rows`, pairs of key and value, in order; return when each is confirmed or has failed."""
        pacer = Pacer(self.rate, self.clock)
        for key, value in rows:
            while wait_s := pacer.wait_s():
                self.producer.poll(min(wait_s, 0.5))
            self._send(key, value)
            if self.tally.failed:
                break
        self.confirm(DELIVERY_S + 10.0)
        return self.tally

    def confirm(self, within_s: float) -> None:
        """Wait until every row sent has its delivery report, for `within_s` seconds at most."""
        deadline = Deadline.after(within_s)
        while len(self.producer) and not deadline.expired:
            self.producer.poll(min(0.1, deadline.remaining_s()))

    def _send(self, key: bytes | None, value: bytes | None) -> None:
        while not self.tally.failed:
            try:
                self.producer.produce(self.topic, value=value, key=key, on_delivery=self._report)
            except BufferError:
                self.producer.poll(0.1)
            except KafkaException as error:
                self.tally.taken += 1
                self.tally.fail(error.args[0].str())
            else:
                self.tally.taken += 1
                self.producer.poll(0)
                return

    def _report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            return self.tally.fail(error.str())
        self.tally.delivered += 1
        if self.on_delivered:
            self.on_delivered(message)
        return None
