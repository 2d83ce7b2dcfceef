"""Replays: pace, back-pressure, and rows counted by what the broker said about them."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pelton.producers.replay import Pacer, Replay, Tally, replay_producer


class Broker:
    """A producer whose queue has `room`, whose clock moves only in poll, and which confirms in poll."""

    def __init__(self, room: int = 1000, refuses: Callable[[bytes | None], KafkaError | None] | None = None):
        self.room = room
        self.refuses = refuses or (lambda _: None)
        self.now_s = 100.0
        self.queue: list[tuple[bytes | None, Any]] = []
        self.sent: list[tuple[float, bytes | None, bytes | None]] = []
        self.full = 0

    def produce(self, topic: str, *, value: bytes | None, key: bytes | None, on_delivery: Any) -> None:
        if len(self.queue) >= self.room:
            self.full += 1
            raise BufferError("Local: Queue full")
        if value == b"huge":
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"))
        self.queue.append((value, on_delivery))
        self.sent.append((self.now_s, key, value))

    def poll(self, timeout: float, /) -> int:
        self.now_s += timeout
        if timeout == 0 and len(self.queue) < self.room:
            return 0
        for value, report in (queued := self.queue):
            report(self.refuses(value), value)
        self.queue = []
        return len(queued)

    def __len__(self) -> int:
        return len(self.queue)


def rows(count: int) -> list[tuple[bytes, bytes]]:
    return [(b"k%d" % i, b"v%d" % i) for i in range(count)]


def test_every_row_is_sent_once_in_order_and_confirmed() -> None:
    broker = Broker()
    arrived: list[Any] = []
    tally = Replay(broker, "t", on_delivered=arrived.append).run(rows(2500))
    assert [(key, value) for _, key, value in broker.sent] == rows(2500)
    assert tally == Tally(taken=2500, delivered=2500)
    assert arrived == [value for _, value in rows(2500)]


def test_a_full_queue_holds_the_replay_back_and_loses_nothing() -> None:
    broker = Broker(room=7)
    broker.poll = lambda timeout, /: Broker.poll(broker, timeout) if timeout else 0  # type: ignore[method-assign]
    tally = Replay(broker, "t").run(rows(100))
    assert broker.full == 14  # 100 rows through a queue of 7: it is full before row 8, 15, … 99
    assert [(key, value) for _, key, value in broker.sent] == rows(100)
    assert tally == Tally(taken=100, delivered=100)


@pytest.mark.parametrize("rate", [0.5, 1.0, 7.0, 1000.0, 20_000.0])
def test_the_rate_holds_over_every_stretch_of_time(rate: float) -> None:
    broker = Broker(room=100_000)
    Replay(broker, "t", rate=rate, clock=lambda: broker.now_s).run(rows(3000))
    times = [at for at, _, _ in broker.sent]
    assert times[-1] - times[0] == pytest.approx(2999 / rate, rel=0.001)
    burst = max(1.0, rate / 20)
    for i in range(0, 3000, 97):
        for j in range(i, 3000, 131):
            assert j - i <= (times[j] - times[i]) * rate + burst + 1e-6


def test_after_a_stall_the_replay_does_not_race_to_catch_up() -> None:
    now = [0.0]
    pacer = Pacer(100.0, lambda: now[0])
    assert pacer.wait_s() == 0.0
    now[0] = 60.0
    burst = 0
    while not pacer.wait_s():
        burst += 1
    assert burst == 5
    assert pacer.wait_s() == pytest.approx(0.01)


def test_the_first_failed_delivery_ends_the_replay_with_the_reason() -> None:
    broken = KafkaError(KafkaError._MSG_TIMED_OUT, "Local: Message timed out")
    broker = Broker(room=10, refuses=lambda value: broken if value == b"v3" else None)
    tally = Replay(broker, "t").run(rows(1000))
    assert (tally.failed, tally.why) == (1, "Local: Message timed out")
    assert tally.taken == len(broker.sent) == 10
    assert tally.delivered == 9
    assert tally.open == 0


def test_a_row_the_client_refuses_ends_the_replay_after_those_before_it() -> None:
    broker = Broker()
    tally = Replay(broker, "t").run([*rows(3), (None, b"huge"), *rows(3)])
    assert (tally.taken, tally.delivered, tally.failed, tally.why) == (4, 3, 1, "too large")


def test_a_failure_while_the_queue_is_full_leaves_no_row_uncounted() -> None:
    broken = KafkaError(KafkaError._MSG_TIMED_OUT, "Local: Message timed out")
    broker = Broker(room=4, refuses=lambda _: broken)
    broker.poll = lambda timeout, /: Broker.poll(broker, timeout) if timeout else 0  # type: ignore[method-assign]
    tally = Replay(broker, "t").run(rows(20))
    assert (tally.taken, tally.failed, tally.open) == (4, 4, 0)


def test_a_report_that_never_comes_is_told_apart_from_a_delivery() -> None:
    broker = Broker()
    broker.poll = lambda timeout, /: 0  # type: ignore[method-assign]
    replay = Replay(broker, "t")
    replay.tally = Tally(taken=3, delivered=2)
    replay.confirm(0.0)
    assert replay.tally.open == 1


def test_the_producer_is_idempotent_whatever_the_settings_say() -> None:
    with pytest.raises(KafkaException, match="idempotence"):
        replay_producer({"bootstrap.servers": "127.0.0.1:1", "acks": "1"})
