"""Two threads and a baton: polling goes on while the model is slow, and what ends one thread ends the worker."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.errors import BrokerUnavailable, DeviceLost

from .relay_run import Gate, Run

pytestmark = pytest.mark.usefixtures("short_waits")
MAKE = Callable[..., Any]


@pytest.fixture
def running() -> Callable[[Any], Any]:
    """`with running(walk) as run:` walks the loop until the end of the block."""

    @contextmanager
    def start(walk: Any) -> Iterator[Run]:
        run = Run(walk)
        try:
            yield run
        finally:
            if run.error is None and not walk.consumer.closed:
                run.drain()
            run.end()

    return start


def test_events_are_scored_and_committed_at_the_end(road: MAKE, running: MAKE) -> None:
    walk = road(batch={"max_size": 16})
    walk.write(*range(100))
    with running(walk) as run:
        run.await_that(lambda: len(walk.kafka.read("out")) == 100)
        assert run.drain() is True
    assert run.error is None
    assert walk.scores == {0: [(n, 2.0 * n) for n in range(100)]}
    assert walk.committed() == 100
    assert walk.consumer.closed


def test_b01_polling_goes_on_while_a_batch_is_in_the_model(
    road: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    monkeypatch.setattr("pelton.consumers.intake.PAUSE_AFTER_S", 0.0)
    walk = road(batch={"max_size": 4}, queue={"max_records": 8})
    gate = Gate(walk.model, monkeypatch)
    walk.write(*range(100))
    with running(walk) as run:
        assert gate.inside.wait(20)
        calls = walk.consumer.calls
        run.await_that(lambda: walk.consumer.calls > calls + 5)
        assert walk.scores == {}
        gate.open()
        run.await_that(lambda: len(walk.kafka.read("out")) == 100)
        assert run.drain() is True
    assert walk.scores == {0: [(n, 2.0 * n) for n in range(100)]}
    assert walk.committed() == 100


def test_b07_a_revoke_that_the_stand_in_serves_waits_for_the_batch(
    road: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    walk = road()
    gate = Gate(walk.model, monkeypatch)
    walk.write(1, 2)
    revoked = threading.Event()
    wait_for_batch = walk.loop.batcher.wait_for_batch

    def wait(timeout_s: float) -> bool:
        if timeout_s:
            revoked.set()
        return wait_for_batch(timeout_s)

    monkeypatch.setattr(walk.loop.batcher, "wait_for_batch", wait)
    with running(walk) as run:
        assert gate.inside.wait(20)
        walk.consumer.revoke(("in", 0))
        assert revoked.wait(20)
        gate.open()
        run.await_that(lambda: walk.committed() == 2)
    assert run.error is None
    assert walk.scores == {0: [(0, 2.0), (1, 4.0)]}


def test_b05_b42_a_dead_device_ends_the_run(road: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = road()

    def forward(_inputs: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(walk.model, "forward", forward)
    walk.write(1)
    with running(walk) as run:
        run.await_that(lambda: run.error is not None)
    assert isinstance(run.error, DeviceLost)
    assert (walk.scores, walk.dead) == ({}, [])
    assert not walk.committed()


def test_b05_b08_a_failed_delivery_ends_the_run_uncommitted(road: MAKE, running: MAKE) -> None:
    walk = road()
    refusal = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "no")
    walk.kafka.refuse = lambda message: refusal if message.topic() == "out" else None
    walk.write(1)
    with running(walk) as run:
        run.await_that(lambda: run.error is not None)
    assert isinstance(run.error, BrokerUnavailable)
    assert not walk.committed()


def test_b10_a_drain_finishes_the_batch_in_hand_and_leaves_the_rest(
    road: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    walk = road(batch={"max_size": 32})
    gate = Gate(walk.model, monkeypatch)
    walk.write(*range(100))
    with running(walk) as run:
        assert gate.inside.wait(20)
        run.end()
        close = walk.loop.batcher.close

        def close_and_open() -> None:
            close()
            gate.open()

        monkeypatch.setattr(walk.loop.batcher, "close", close_and_open)
        assert run.drain() is True
    assert walk.scores == {0: [(n, 2.0 * n) for n in range(32)]}
    assert walk.committed() == 32
    assert walk.consumer.closed


def test_b10_a_drain_that_cannot_finish_says_so_and_commits_nothing_unsafe(road: MAKE, running: MAKE) -> None:
    walk = road()
    walk.kafka.reachable = False
    walk.write(1, 2)
    with running(walk) as run:
        run.await_that(lambda: walk.loop.sink.in_flight == 2)
        run.end()
        assert run.drain(0.05) is False
    assert not walk.committed()
    assert walk.consumer.closed


def test_b10_b19_a_drain_whose_last_commit_is_refused_still_leaves_the_group(road: MAKE, running: MAKE) -> None:
    walk = road()
    walk.write(1)
    with running(walk) as run:
        run.await_that(lambda: len(walk.kafka.read("out")) == 1)
        run.end()
        walk.kafka.refuse_commit = lambda _: KafkaError(KafkaError.ILLEGAL_GENERATION, "no")
        assert run.drain() is False
    assert walk.consumer.closed
