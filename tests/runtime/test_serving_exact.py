"""A worker's transactions begin before it joins its group, and wait for a broker as long as it takes."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from structlog.testing import capture_logs

from pelton import serving as serving_file
from pelton.errors import Fenced
from pelton.metrics import Metrics
from pelton.serving import Serving
from pelton.states import WorkerState

MAKE = Callable[..., Any]
LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)


class Told:
    def __init__(self) -> None:
        self.states: list[WorkerState] = []
        self.on_state: Callable[[], None] = lambda: None

    def state(self, state: WorkerState, reason: str = "") -> None:
        assert "in time" in reason
        self.states.append(state)
        self.on_state()


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Serving:
    monkeypatch.setattr(serving_file, "START_S", 0.01)
    made = Serving.__new__(Serving)
    made._reporter, made._metrics = Told(), Metrics()  # type: ignore[assignment]
    return made


def test_b40_an_id_is_waited_for_and_then_what_is_written_is_committed(road: MAKE, serving: Any) -> None:
    walk = road(delivery="exactly-once", start=False)
    walk.kafka.reachable = False
    tries = iter((False, False, True))

    def tried() -> None:
        walk.kafka.reachable = next(tries)

    serving._reporter.on_state = tried
    assert serving._begin_transactions(walk.loop.sink, threading.Event())
    assert serving._reporter.states == [WorkerState.JOINING] * 3
    walk.write(1)
    walk.walk()
    with walk.kafka.changed:
        assert walk.kafka.changed.wait_for(lambda: walk.committed() == 1, 20)
    walk.loop.sink.close()


def test_b40_a_worker_told_to_stop_waits_no_longer(road: MAKE, serving: Any) -> None:
    walk = road(delivery="exactly-once", start=False)
    walk.kafka.reachable = False
    stopping = threading.Event()
    serving._reporter.on_state = stopping.set
    assert not serving._begin_transactions(walk.loop.sink, stopping)
    assert "committer" not in {thread.name for thread in threading.enumerate() if thread.ident is None}


def test_b60_an_id_that_another_process_holds_ends_the_worker(road: MAKE, serving: Any) -> None:
    walk = road(delivery="exactly-once", start=False)
    walk.kafka.coordinator.fail("init_transactions", KafkaError(KafkaError._FENCED, "fenced", fatal=True))
    with pytest.raises(Fenced):
        serving._begin_transactions(walk.loop.sink, threading.Event())


def test_an_id_that_may_not_be_used_is_named_and_tried_again_by_a_new_producer(road: MAKE, serving: Any) -> None:
    walk = road(delivery="exactly-once", start=False)
    serving._seat = SimpleNamespace(transactional_id="pelton-g-one-0")
    denied = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "no", fatal=True)
    for _ in range(2):
        walk.kafka.coordinator.fail("init_transactions", denied)
    told: list[tuple[WorkerState, str]] = []
    serving._reporter = SimpleNamespace(state=lambda *report: told.append(report))
    made = len(walk.kafka.producers)
    with capture_logs() as logged:
        assert serving._begin_transactions(walk.loop.sink, threading.Event())
    assert {(state, "(pelton-g-one-0)" in reason) for state, reason in told} == {(WorkerState.JOINING, True)}
    assert (len(told), len(walk.kafka.producers) - made) == (2, 2)
    assert [line["event"] for line in logged].count("not_joined_yet") == 1
    walk.loop.sink.close()
