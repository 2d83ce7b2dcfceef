"""Two roads before one device: requests and stream are polled and scored by threads of their own, and end together."""

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pelton.errors import BrokerUnavailable
from pelton.relay import Relay
from pelton.testing import FakeKafka

from .desk_road import TOPICS, DeskRoad
from .relay_run import Gate, Run

pytestmark = pytest.mark.usefixtures("short_waits")
MAKE = Callable[..., Any]


class Pair:
    """The stream's road and that of the requests, around one model."""

    def __init__(self, road: MAKE, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.kafka = FakeKafka(TOPICS)
        self.walk = road(beside=SimpleNamespace(kafka=self.kafka), **settings)
        self.asked = DeskRoad(monkeypatch, self.kafka, walk=self.walk, **settings)
        self.run: Run

    @property
    def closed(self) -> list[bool]:
        return [self.walk.consumer.closed, self.asked.consumer.closed]

    def marks(self) -> list[str | None]:
        """What stands beside the committed offsets of both groups, which tells of deaths."""
        found = [self.kafka.committed("g", ("in", 0)), self.kafka.committed("rg", ("asked", 0))]
        return [at.metadata if at else None for at in found]


@pytest.fixture
def pair(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> Iterator[MAKE]:
    """`pair(batch={…})` assembles both roads; `start(found)` walks them until the end of the test."""
    made: list[Pair] = []

    def make(**settings: Any) -> Pair:
        made.append(Pair(road, monkeypatch, **settings))
        return made[-1]

    yield make
    for found in made:
        if hasattr(found, "run"):
            found.run.end()
            if not all(found.closed):
                found.run.relay.leave()


def start(pair: Pair) -> Run:
    pair.run = Run(pair.walk, pair.asked.desk)
    return pair.run


def test_both_are_answered_and_committed_at_the_end(pair: MAKE) -> None:
    found = pair(batch={"max_size": 16})
    found.walk.write(*range(100))
    for n in range(100):
        found.asked.ask(n, f"{n:02}")
    run = start(found)
    run.await_that(lambda: len(found.kafka.read("out")) == len(found.kafka.read("answers")) == 100)
    assert run.drain() is True
    assert run.error is None
    assert found.walk.scores == {0: [(n, 2.0 * n) for n in range(100)]}
    assert sorted(found.asked.answers()) == [(f"{n:02}", "ok", 2.0 * n) for n in range(100)]
    assert (found.walk.committed(), found.asked.committed()) == (100, 100)
    assert found.closed == [True, True]


@pytest.mark.parametrize("first", ["stream", "requests"])
def test_b01_both_are_polled_while_a_batch_of_either_is_in_the_model(
    pair: MAKE, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    monkeypatch.setattr("pelton.consumers.intake.PAUSE_AFTER_S", 0.0)
    found = pair(batch={"max_size": 4}, queue={"max_records": 8})
    gate = Gate(found.walk.model, monkeypatch)

    def write(n: int, *lanes: str) -> None:
        if "stream" in lanes:
            found.walk.write(*[1] * n)
        if "requests" in lanes:
            for _ in range(n):
                found.asked.ask(1, f"{found.kafka.end('asked', 0)}")

    write(1, first)
    run = start(found)
    assert gate.inside.wait(20)
    write(30, "stream", "requests")
    consumers = (found.walk.consumer, found.asked.consumer)
    run.await_that(lambda: all(consumer.paused for consumer in consumers))
    calls = [consumer.calls for consumer in consumers]
    run.await_that(lambda: all(consumer.calls > n + 5 for consumer, n in zip(consumers, calls, strict=True)))
    assert (found.walk.scores, found.asked.answers()) == ({}, [])
    gate.open()
    n = {"stream": 30 + (first == "stream"), "requests": 30 + (first == "requests")}
    run.await_that(lambda: len(found.kafka.read("out")) == n["stream"])
    run.await_that(lambda: len(found.kafka.read("answers")) == n["requests"])
    assert run.drain() is True
    assert (found.walk.committed(), found.asked.committed()) == (n["stream"], n["requests"])


def test_b10_a_drain_answers_the_batch_in_hand_and_leaves_the_rest(pair: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    found = pair(batch={"max_size": 4})
    gate = Gate(found.walk.model, monkeypatch)
    for n in range(10):
        found.asked.ask(n, f"{n}")
    run = start(found)
    assert gate.inside.wait(20)
    found.walk.write(*range(10))
    run.end()
    close = found.asked.desk.batcher.close

    def close_and_open() -> None:
        close()
        found.walk.loop.batcher.close()
        gate.open()

    monkeypatch.setattr(found.asked.desk.batcher, "close", close_and_open)
    assert run.drain() is True
    assert sorted(found.asked.answers()) == [(f"{n}", "ok", 2.0 * n) for n in range(4)]
    assert found.asked.committed() == 4
    assert (found.walk.scores, bool(found.walk.committed())) == ({}, False)
    assert found.closed == [True, True]


def test_b10_answers_that_cannot_leave_hold_a_drain_up_no_longer_than_told(pair: MAKE) -> None:
    found = pair()
    found.kafka.stalled = {("answers", 0)}
    found.asked.ask(1)
    found.walk.write(1)
    run = start(found)
    run.await_that(lambda: found.asked.desk.sink.in_flight == 1 and len(found.kafka.read("out")) == 1)
    assert run.drain(0.2) is False
    run.await_that(lambda: all(found.closed))
    assert not found.asked.committed()
    assert found.walk.committed() == 1


def fails(monkeypatch: pytest.MonkeyPatch, road: Any, error: BaseException) -> None:
    def turn(_timeout_s: float) -> None:
        raise error

    monkeypatch.setattr(road, "turn", turn)


@pytest.mark.parametrize("which", ["loop", "desk"])
def test_b05_what_ends_one_walker_ends_the_worker_at_once(
    pair: MAKE, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """However long the main thread would wait before it looks again."""
    monkeypatch.setattr("pelton.relay.POLL_S", 1_000.0)
    waiting, fault = threading.Event(), RuntimeError("a bug")

    def turn(_timeout_s: float) -> None:
        assert waiting.wait(20)
        raise fault

    found = pair()
    monkeypatch.setattr(found.walk.loop if which == "loop" else found.asked.desk, "turn", turn)
    run = Run(found.walk, found.asked.desk, at_rest=waiting)
    run._thread.join(20)
    assert run.error is fault
    run.relay.leave()
    assert found.closed == [True, True]


def test_b03_no_record_of_either_road_is_blamed_for_the_broker(pair: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pair()
    found.kafka.stalled = {("answers", 0), *(("out", n) for n in range(4))}
    found.asked.ask(1)
    found.walk.write(1)
    run = start(found)
    run.await_that(lambda: all(note and "starts=1" in note for note in found.marks()))
    fails(monkeypatch, found.asked.desk, BrokerUnavailable("gone"))
    run._thread.join(20)
    assert isinstance(run.error, BrokerUnavailable)
    assert found.marks() == ["", ""]


class Stopping(threading.Event):
    """Is set after so many waits; notes how often it was looked at, and refuses to be looked at for ever."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after
        self.waits = self.looks = 0

    def is_set(self) -> bool:
        self.looks += 1
        assert self.looks < 10 * self._after, "the main thread spins"
        return self.waits >= self._after

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout
        self.waits += 1
        return False


@pytest.mark.parametrize("with_requests", [True, False])
def test_a_slow_model_without_work_lets_the_main_thread_rest(pair: MAKE, with_requests: bool) -> None:
    """Counted, not timed: between two looks it waits."""
    found = pair()
    relay = Relay(found.walk.loop, *([found.asked.desk] if with_requests else []), stream_share=0.25)
    relay._station.slow.set()
    stopping = Stopping(after=20)
    relay.run(stopping)
    assert (stopping.waits, stopping.looks) == (20, 21)
    relay.leave()


def test_an_answer_that_goes_nowhere_aborts_nobodys_transaction(pair: MAKE) -> None:
    found = pair(delivery="exactly-once")
    found.walk.write(1, 2)
    found.walk.walk()
    for topic in ("team-z", "out", "answers"):
        found.asked.ask(3, topic, topic=topic)
    found.asked.walk()
    assert found.asked.answers() == [("answers", "ok", 6.0)]  # it waits for no transaction either
    assert found.walk.scores == {}
    found.walk.commit()
    assert found.walk.scores == {0: [(0, 2.0), (1, 4.0)]}
    assert found.asked.metric("replies_total") == {"no_topic": 1.0, "forbidden": 1.0, "delivered": 1.0}
    assert found.asked.metric("transactions_total").keys() <= {"committed"}
    found.asked.commit()
    assert (found.walk.committed(), found.asked.committed()) == (2, 3)
