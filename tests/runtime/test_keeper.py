"""Restarts of one worker: how long it waits, and what it says when nothing can be started."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pelton import keeper as keeper_file
from pelton.care import Care
from pelton.deadline import Deadline
from pelton.keeper import Keeper
from pelton.metrics import SupervisorMetrics
from pelton.states import WorkerState


@pytest.mark.parametrize(
    ("deaths", "longest_s"), [(1, 1.0), (2, 2.0), (3, 4.0), (5, 16.0), (6, 30.0), (7, 30.0), (10_000, 30.0)]
)
def test_the_back_off_doubles_to_its_bound_and_is_spread(deaths: int, longest_s: float) -> None:
    waits = [Care(first_s=1.0, max_s=30.0).back_off_s(deaths) for _ in range(200)]
    assert longest_s / 2 <= min(waits) < max(waits) <= longest_s
    assert max(waits) - min(waits) > longest_s / 4


async def until(condition: Callable[[], bool]) -> None:
    deadline = Deadline.after(10)
    while not condition():
        assert not deadline.expired, "it did not come to pass"
        await asyncio.sleep(0.001)


async def test_a_command_that_cannot_be_started_is_a_death_with_its_reason() -> None:
    keeper = Keeper(0, ("/no/such/program",), b"{}", Care(first_s=0.001, max_s=0.001), SupervisorMetrics())
    keeping = asyncio.create_task(keeper.keep())
    await until(lambda: keeper.restarts >= 2)
    view = keeper.view()
    keeper.stop()
    await keeping
    assert "No such file or directory: '/no/such/program'" in view.reason
    assert keeper.view().state is WorkerState.STOPPED
    assert keeper.pid is None


async def test_settings_reach_the_worker_outside_its_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    program = 'cat /dev/fd/$2; echo; echo "$@" | tr -d 0-9; exit 0'
    keeper = Keeper(
        5, ("sh", "-c", program, "worker"), b'{"password": "hunter2"}', Care(first_s=60), SupervisorMetrics()
    )
    keeping = asyncio.create_task(keeper.keep())
    await until(lambda: keeper.view().reason == "ended with exit code 0")
    keeper.stop()
    await keeping
    settings, options = (line for line in capfd.readouterr().out.splitlines() if line.startswith(("{", "--")))
    assert settings == '{"password": "hunter2"}'
    assert options == "--settings-fd  --report-fd  --progress-fd  --index "


@pytest.mark.parametrize(("slept_s", "replaced"), [((100.0, 1.0), False), ((1.0,) * 100, True)])
async def test_b05_time_in_which_the_whole_pod_was_frozen_makes_no_worker_hang(
    monkeypatch: pytest.MonkeyPatch, slept_s: tuple[float, ...], replaced: bool
) -> None:
    """Looked at each second, with a limit of ten: a poll loop that is silent hangs, one that could not run does not."""
    keeper = Keeper(0, (), b"", Care(stall_s=10.0), SupervisorMetrics())
    clock, ended, sleeps = SimpleNamespace(now_s=1000.0), list[float](), list(slept_s)

    async def end(grace_s: float) -> bool:
        ended.append(grace_s)
        return True

    async def sleep(_: float) -> None:
        clock.now_s += sleeps.pop(0)
        if not sleeps:
            progress.slowest_beat_s = clock.now_s  # the one that was frozen goes on
            keeper.stop()

    progress = SimpleNamespace(slowest_beat_s=1000.0, batch_started_s=0.0, batch_finished_s=0.0, oldest_s=0.0)
    process: Any = SimpleNamespace(pid=1, progress=progress, end=end, signal=lambda _: None)
    keeper._process = process
    monkeypatch.setattr(keeper_file, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    monkeypatch.setattr(keeper_file, "asyncio", SimpleNamespace(sleep=sleep))
    await keeper._watch(process)
    assert bool(ended) is replaced
