"""GPUs as NVIDIA's driver tells of them, by a stand-in for its library."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from pelton import gpus
from pelton.deadline import Deadline
from pelton.gpus import Gpus, GpuUse, load_nvml


class Nvml:
    """`pynvml` on a machine with these devices: UUID to bytes used, bytes in all, percent busy (None: not kept)."""

    class NVMLError(Exception):
        pass

    def __init__(self, devices: dict[str, tuple[int, int, int | None]], *, driver: bool = True) -> None:
        self.devices, self.driver = devices, driver
        self.asked = 0

    def nvmlInit(self) -> None:  # noqa: N802 - its name
        if not self.driver:
            raise self.NVMLError("NVML Shared Library Not Found")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        self.asked += 1
        if uuid not in self.devices:
            raise self.NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetMemoryInfo(self, device: str) -> Any:  # noqa: N802
        used, total, _ = self.devices[device]
        return SimpleNamespace(used=used, total=total, free=total - used)

    def nvmlDeviceGetUtilizationRates(self, device: str) -> Any:  # noqa: N802
        percent = self.devices[device][2]
        if percent is None:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=percent, memory=1)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Gpus, list[float]]]:
    """Gpus without their thread, and the clock they read."""

    def make(*uuids: str) -> tuple[Gpus, list[float]]:
        now_s = [100.0]
        found = Gpus(lambda: None, lambda: now_s[0])
        found.watch(uuids)
        assert found._thread is not None
        found._thread.join(5)
        return found, now_s

    return make


def test_each_gpu_is_found_by_the_uuid_that_torch_gives(unwatched: Callable[..., tuple[Gpus, Any]]) -> None:
    nvml = Nvml({"GPU-aaaa": (3, 10, 40), "GPU-bbbb": (9, 20, 0)})
    found, _ = unwatched("bbbb", "GPU-aaaa")
    found.ask(nvml)
    assert (found.use("bbbb"), found.use("GPU-aaaa")) == (GpuUse(9, 20, 0.0), GpuUse(3, 10, 0.4))


def test_a_slice_of_a_gpu_has_memory_and_no_share_of_time(unwatched: Callable[..., tuple[Gpus, Any]]) -> None:
    found, _ = unwatched("cccc")
    found.ask(Nvml({"MIG-cccc": (1, 5, None), "GPU-whole": (4, 40, 80)}))
    assert found.use("cccc") == GpuUse(1, 5, None)


def test_a_gpu_that_the_driver_does_not_know_is_unknown(unwatched: Callable[..., tuple[Gpus, Any]]) -> None:
    found, _ = unwatched("gone", "here")
    found.ask(Nvml({"GPU-here": (1, 2, 3)}))
    assert found.use("gone") is None
    assert found.use("here") is not None
    assert found.use("") is None


def test_what_a_silent_driver_said_last_is_forgotten(unwatched: Callable[..., tuple[Gpus, list[float]]]) -> None:
    found, now_s = unwatched("here")
    found.ask(Nvml({"GPU-here": (1, 2, 3)}))
    now_s[0] += gpus.STALE_S - 1
    assert found.use("here") is not None
    now_s[0] += 2
    assert found.use("here") is None


def test_without_a_gpu_the_library_is_not_even_loaded() -> None:
    found = Gpus(lambda: pytest.fail("loaded"))
    found.watch(["", ""])
    assert found._thread is None


def test_the_driver_is_asked_in_a_thread_of_its_own() -> None:
    nvml = Nvml({"GPU-here": (1, 2, 3)})
    found = Gpus(lambda: nvml)
    found.watch(["here"])
    deadline = Deadline.after(10)
    while found.use("here") is None:
        assert not deadline.expired
    found.watch(["here"])
    assert found._thread is not None
    assert found._thread.daemon


def test_whatever_else_the_library_raises_ends_the_watch_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(gpus, "log", SimpleNamespace(exception=told.append))
    nvml = Nvml({"GPU-here": (1, 2, 3)})
    monkeypatch.setattr(nvml, "nvmlDeviceGetMemoryInfo", lambda _: 1 / 0)
    found = Gpus(lambda: nvml)
    found.watch(["here"])
    assert found._thread is not None
    found._thread.join(10)
    assert not found._thread.is_alive()
    assert (found.use("here"), told) == (None, ["gpu_unmeasured"])


def test_a_missing_library_and_a_missing_driver_are_told_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(gpus, "log", SimpleNamespace(info=lambda _event, reason: told.append(reason)))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert load_nvml() is None
    monkeypatch.setitem(sys.modules, "pynvml", Nvml({}, driver=False))
    assert load_nvml() is None
    assert told == ["nvidia-ml-py is not installed: pip install 'pelton[gpu]'", "NVML Shared Library Not Found"]
    nvml = Nvml({})
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert load_nvml() is nvml


def test_the_stand_in_has_the_names_of_the_real_library() -> None:
    ours = {name for name in vars(Nvml) if name.lower().startswith("nvml")}
    assert len(ours) == 5
    assert [name for name in ours if not hasattr(pynvml, name)] == []
    assert issubclass(pynvml.NVMLError, Exception)
