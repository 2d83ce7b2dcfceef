"""What a scrape shows of workers that they do not tell themselves."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pelton.gpus import GpuUse
from pelton.health import Verdict, WorkerView
from pelton.metrics import SupervisorMetrics
from pelton.reports import StatusReport
from pelton.scale_control import ScaleAnswer
from pelton.states import WorkerState
from pelton.survey import Survey

OF_A_PROCESS = ("poll_age_seconds", "batch_age_seconds", "oldest_unfinished_seconds", "process_cpu_seconds_total")
OF_A_PROCESS += ("process_resident_bytes", "process_threads", "process_open_files")
OF_A_GPU = ("gpu_memory_used_bytes", "gpu_memory_total_bytes", "gpu_busy_ratio")


class Driver:
    """Stands in for `Gpus`: says what the test says."""

    def __init__(self) -> None:
        self.uses: dict[str, GpuUse] = {}
        self.watched: list[str] = []

    def watch(self, uuids: Any) -> None:
        self.watched = list(uuids)

    def use(self, uuid: str) -> GpuUse | None:
        return self.uses.get(uuid)


class Scene:
    """Two workers, of which the first is this process."""

    def __init__(self) -> None:
        self.metrics, self.driver = SupervisorMetrics(), Driver()
        self.survey = Survey(self.metrics, self.driver)  # type: ignore[arg-type]
        self.keepers = [self.keeper(0, os.getpid()), self.keeper(1, None)]

    def keeper(self, index: int, pid: int | None, gpu: str = "", **stamps: float) -> Any:
        view = WorkerView(index, WorkerState.READY, **stamps)
        return SimpleNamespace(pid=pid, status=StatusReport(gpu=gpu), view=lambda: view)

    def take(self, scale: ScaleAnswer | None = None) -> None:
        self.survey.take(self.keepers, {"live": Verdict(), "ready": Verdict(("why not",))}, scale)

    def value(self, name: str, worker: int = 0, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"pelton_{name}", {"worker": str(worker), **labels})


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_process_shows_its_time_memory_threads_and_files(scene: Scene) -> None:
    while sum(os.times()[:2]) < 0.2:
        pass
    before_s = sum(os.times()[:2])
    scene.take()
    after_s = sum(os.times()[:2])
    assert before_s - 0.02 <= (scene.value("process_cpu_seconds_total") or 0) <= after_s + 0.02
    lines = Path("/proc/self/status").read_text().splitlines()
    told = {name: words.split() for name, _, words in (line.partition(":") for line in lines)}
    assert scene.value("process_resident_bytes") == pytest.approx(int(told["VmRSS"][0]) * 1024, rel=0.05)
    assert scene.value("process_threads") == int(told["Threads"][0])
    assert scene.value("process_open_files") == pytest.approx(len(os.listdir("/proc/self/fd")), abs=1)  # noqa: PTH208
    scene.take()
    assert (scene.value("process_cpu_seconds_total") or 0) <= sum(os.times()[:2]) + 0.02, "not added up over scrapes"


def test_ages_are_those_of_the_stamps(scene: Scene) -> None:
    now_s = time.monotonic()
    scene.keepers[0] = scene.keeper(0, os.getpid(), poll_beat_s=now_s - 3, oldest_unfinished_s=now_s - 40)
    scene.take()
    assert scene.value("poll_age_seconds") == pytest.approx(3, abs=1)
    assert scene.value("oldest_unfinished_seconds") == pytest.approx(40, abs=1)
    assert scene.value("batch_age_seconds") == 0


def test_a_worker_without_a_process_has_no_series_and_one_that_died_has_none_left(scene: Scene) -> None:
    scene.driver.uses["u"] = GpuUse(1, 2, 0.5)
    scene.keepers[0] = scene.keeper(0, os.getpid(), gpu="u")
    scene.take()
    assert [name for name in OF_A_PROCESS if scene.value(name) is None] == []
    assert [name for name in OF_A_GPU if scene.value(name, gpu="u") is None] == []
    assert [name for name in OF_A_PROCESS if scene.value(name, 1) is not None] == []
    scene.keepers[0] = scene.keeper(0, None)
    scene.take()
    assert 'worker="0"' not in scene.metrics.exposition()


def test_a_process_that_is_gone_since_is_no_error(scene: Scene) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    scene.keepers[0] = scene.keeper(0, gone.pid)
    scene.take()
    assert scene.value("process_resident_bytes") is None
    assert scene.value("poll_age_seconds") == 0


def test_each_worker_shows_the_gpu_it_is_on(scene: Scene) -> None:
    scene.keepers = [scene.keeper(0, os.getpid(), gpu="a"), scene.keeper(1, os.getppid(), gpu="slice")]
    scene.driver.uses = {"a": GpuUse(3, 10, 0.25), "slice": GpuUse(1, 5, None)}
    scene.take()
    assert scene.driver.watched == ["a", "slice"]
    assert [scene.value(name, gpu="a") for name in OF_A_GPU] == [3, 10, 0.25]
    assert [scene.value(name, 1, gpu="slice") for name in OF_A_GPU] == [1, 5, None]
    scene.driver.uses.clear()
    scene.take()
    assert [scene.value(name, gpu="a") for name in OF_A_GPU] == [None] * 3


def test_replicas_are_shown_once_they_are_known_and_never_as_none(scene: Scene) -> None:
    scene.take()
    assert "pelton_replicas{" not in scene.metrics.exposition()
    scene.take(ScaleAnswer(4, "", 9000, None, 8.4, 12, 3, None, None))
    told = [line for line in scene.metrics.exposition().splitlines() if line.startswith("pelton_replicas{")]
    assert told == ['pelton_replicas{which="wanted"} 4.0', 'pelton_replicas{which="present"} 3.0']


def test_probes_and_versions_are_shown(scene: Scene) -> None:
    scene.take()
    exposed = scene.metrics.exposition()
    assert 'pelton_healthy{probe="live"} 1.0\n' in exposed
    assert 'pelton_healthy{probe="ready"} 0.0\n' in exposed
    python = ".".join(map(str, sys.version_info[:3]))
    assert f'python="{python}"' in next(line for line in exposed.splitlines() if line.startswith("pelton_build_info{"))
