"""A worker that only answers requests: one road, one walker, and the main thread that stands in for it."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pelton.errors import DeviceLost

from .desk_road import DeskRoad
from .relay_run import Gate, Run

pytestmark = pytest.mark.usefixtures("short_waits")
MAKE = Callable[..., Any]


@pytest.fixture
def running() -> Iterator[Callable[[DeskRoad], Run]]:
    """`running(asked)` walks the desk's road until the end of the test."""
    made: list[tuple[Run, DeskRoad]] = []

    def start(asked: DeskRoad) -> Run:
        made.append((Run(SimpleNamespace(kafka=asked.kafka, loop=asked.desk)), asked))
        return made[-1][0]

    yield start
    for run, asked in made:
        run.end()
        if not asked.consumer.closed:
            run.relay.leave()


def test_requests_are_answered_and_committed_at_the_end(desk: MAKE, running: MAKE) -> None:
    asked = desk(batch={"max_size": 16})
    for n in range(100):
        asked.ask(n, f"{n:02}")
    run = running(asked)
    run.await_that(lambda: len(asked.kafka.read("answers")) == 100)
    assert run.drain() is True
    assert run.error is None
    assert sorted(asked.answers()) == [(f"{n:02}", "ok", 2.0 * n) for n in range(100)]
    assert asked.committed() == 100
    assert asked.consumer.closed
    assert (asked.desk.progress.poll_beat_s, asked.desk.progress.oldest_s) == (0.0, 0.0)
    assert asked.desk.progress.slowest_beat_s > 0


def test_b01_polling_goes_on_while_a_batch_is_in_the_model(
    desk: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.relay.SURPRISE_S", 0.0)
    asked = desk(batch={"max_size": 4})
    gate = Gate(asked.model, monkeypatch)
    asked.ask(1)
    run = running(asked)
    assert gate.inside.wait(20)
    calls = asked.consumer.calls
    run.await_that(lambda: asked.consumer.calls > calls + 5)
    assert asked.answers() == []
    gate.open()
    run.await_that(lambda: len(asked.answers()) == 1)
    assert run.drain() is True


def test_b05_b42_a_dead_device_ends_the_run_uncommitted(
    desk: MAKE, running: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = desk()

    def forward(_inputs: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(asked.model, "forward", forward)
    asked.ask(1)
    run = running(asked)
    run.await_that(lambda: run.error is not None)
    assert isinstance(run.error, DeviceLost)
    assert (asked.answers(), asked.committed() or 0) == ([], 0)
