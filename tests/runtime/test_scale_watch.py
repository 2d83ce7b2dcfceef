"""The answer to /scale: fresh in the background, and never waited for."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pelton import scale_watch
from pelton.deadline import Deadline
from pelton.health import WorkerView
from pelton.reports import StatusReport
from pelton.scale_watch import ScaleWatch
from pelton.schemas.settings import Settings
from pelton.schemas.settings_scale import Scale
from pelton.states import WorkerState

FAKE_ASKER = Path(__file__).with_name("fake_asker.py")
STREAM = {"topics": ["in"], "group": "g", "sink": "out"}


class Kept:
    """A worker as its keeper knows it."""

    def __init__(self, ready_since_s: float = 0.0) -> None:
        self.status = StatusReport()
        self._view = WorkerView(0, WorkerState.READY, ready_since_s=ready_since_s)

    def view(self) -> WorkerView:
        return self._view


def told(lag: int = 0, members: int = 1, failed: str = "") -> str:
    groups = [] if failed else [{"partitions": [["in", 0, 100 - lag, 100], ["in", 1, 7, 7]], "members": members}]
    return json.dumps({"groups": groups, "failed": failed})


async def eventually(condition: Callable[[], Any]) -> None:
    deadline = Deadline.after(20)
    while not condition():
        assert not deadline.expired
        await asyncio.sleep(0.01)


@asynccontextmanager
async def watching(tmp_path: Path, *lines: str, die: bool = False, **scale: Any) -> AsyncIterator[ScaleWatch]:
    script = tmp_path / "lines"
    script.write_text("\n".join(lines))
    settings = Settings(model="m", stream=STREAM, scale=scale)
    assert settings.scale is not None
    command = (sys.executable, str(FAKE_ASKER), str(script), *(["die"] if die else []))
    watch = ScaleWatch(settings, settings.scale, [Kept()], command)  # type: ignore[list-item]
    task = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_there_is_no_answer_before_the_broker_has_told_anything(tmp_path: Path) -> None:
    async with watching(tmp_path, told(failed="no broker")) as watch:
        assert watch.answer() is None
        await eventually(lambda: watch.reason == "no broker")
        assert watch.answer() is None


async def test_what_is_told_is_answered_and_ages(tmp_path: Path) -> None:
    async with watching(tmp_path, told(lag=30, members=2), told(failed="gone")) as watch:
        await eventually(lambda: watch.reason == "gone")
        answer = watch.answer()
        assert answer is not None
        assert (answer.lag_records, answer.partitions, answer.replicas, answer.wanted_replicas) == (30, 2, 2, 2)
        await eventually(lambda: (aged := watch.answer()) is not None and aged.age_s > answer.age_s)


async def test_thousands_of_partitions_are_told_on_one_line(tmp_path: Path) -> None:
    many = {"partitions": [["in", number, 0, 1] for number in range(6000)], "members": 1}
    async with watching(tmp_path, json.dumps({"groups": [many], "failed": ""})) as watch:
        await eventually(watch.answer)
        assert (answer := watch.answer()) is not None
        assert (answer.partitions, answer.lag_records) == (6000, 6000)


@pytest.mark.parametrize("last", [told(), "no JSON"])
async def test_an_asker_that_dies_or_raves_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    monkeypatch.setattr(scale_watch, "AGAIN_S", 0.01)
    async with watching(tmp_path, told(lag=5), last, die=True) as watch:
        starts = tmp_path / "lines.starts"
        await eventually(lambda: starts.exists() and starts.read_text().count("again") >= 3)
        assert watch.answer() is not None


async def test_who_is_cancelled_while_an_asker_ends_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending, may_end, codes = asyncio.Event(), asyncio.Event(), list[int | None]()
    communicate = asyncio.subprocess.Process.communicate

    async def slow(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
        ending.set()
        await may_end.wait()
        told = await communicate(process)
        codes.append(process.returncode)
        return told

    monkeypatch.setattr(asyncio.subprocess.Process, "communicate", slow)
    async with watching(tmp_path, told(), die=True):
        await ending.wait()
        asyncio.get_running_loop().call_soon(may_end.set)
    assert len(codes) == 1
    assert codes[0] is not None


async def test_an_asker_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    settings = Settings(model="m", stream=STREAM)
    watch = ScaleWatch(settings, Scale(), [Kept()], [str(tmp_path / "nothing")])  # type: ignore[list-item]
    task = asyncio.create_task(watch.run())
    await eventually(lambda: "could not be started" in watch.reason)
    task.cancel()


def test_a_start_takes_what_it_took_here_or_has_taken_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [1000.0]
    monkeypatch.setattr(scale_watch.time, "monotonic", lambda: clock_s[0])
    settings = Settings(model="m", stream=STREAM)
    one = Kept()
    watch = ScaleWatch(settings, Scale(), [one])  # type: ignore[list-item]
    assert watch._start_s(1040.0) == 40.0
    one._view = WorkerView(0, WorkerState.READY, ready_since_s=1055.0)
    assert watch._start_s(1060.0) == 55.0
    one._view = WorkerView(0, WorkerState.READY, ready_since_s=9000.0)  # it died, and is back
    assert watch._start_s(9010.0) == 55.0
    set_s = ScaleWatch(settings, Scale(start_s=90), [one])  # type: ignore[list-item]
    assert set_s._start_s(9010.0) == 90.0
