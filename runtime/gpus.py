"""What NVIDIA's driver says of GPUs, where there are any and its library is installed."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog

log = structlog.get_logger(__name__)

ASK_EVERY_S = 2.0
STALE_S = 15.0


@dataclass(frozen=True, slots=True)
class GpuUse:
    """How much of a GPU is in use, by whatever process; `busy` is a share of time, None where the driver keeps none."""

    used_bytes: int
    total_bytes: int
    busy: float | None


def load_nvml() -> Any:
    """Return NVIDIA's management library, ready for use, or None where it or the driver is missing."""
    try:
        import pynvml  # noqa: PLC0415 - of the extra `gpu`
    except ImportError:
        log.info("gpu_unmeasured", reason="nvidia-ml-py is not installed: pip install 'pelton[gpu]'")
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        log.info("gpu_unmeasured", reason=str(error))
        return None
    return pynvml


class Gpus:
    """Watches GPUs by their UUIDs, in a thread of its own: a driver that hangs must not hold up who asks here.

    The thread, and the library, start with the first GPU asked for. By UUID, because the numbers that a process sees
    are its own (`CUDA_VISIBLE_DEVICES`, the order of devices), and a slice of a GPU (MIG) has none.
    """

    def __init__(self, load: Callable[[], Any] = load_nvml, clock: Callable[[], float] = time.monotonic) -> None:
        self._load, self._clock = load, clock
        self._wanted: frozenset[str] = frozenset()
        self._known: dict[str, tuple[float, GpuUse]] = {}
        self._thread: threading.Thread | None = None

    def watch(self, uuids: Iterable[str]) -> None:
        """Watch these and no others from now on; never waits."""
        self._wanted = frozenset(filter(None, uuids))
        if self._wanted and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="gpus", daemon=True)
            self._thread.start()

    def use(self, uuid: str) -> GpuUse | None:
        """Return how a GPU is used; None while that is unknown, or when the driver has not answered for a while."""
        asked_s, use = self._known.get(uuid, (0.0, None))
        return use if use is not None and self._clock() - asked_s < STALE_S else None

    def ask(self, nvml: Any) -> None:
        """Ask the driver once for all that is watched."""
        for uuid in self._wanted:
            with suppress(nvml.NVMLError):
                self._known[uuid] = self._clock(), _ask(nvml, uuid)

    def _run(self) -> None:
        try:
            nvml = self._load()
            while nvml is not None:
                self.ask(nvml)
                time.sleep(ASK_EVERY_S)
        except Exception:  # a driver's library may say anything, and nobody's work depends on it
            log.exception("gpu_unmeasured")


def _ask(nvml: Any, uuid: str) -> GpuUse:
    device = _device(nvml, uuid)
    memory = nvml.nvmlDeviceGetMemoryInfo(device)
    busy = None
    with suppress(nvml.NVMLError):  # kept for a whole GPU only, not for a slice of one
        busy = nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100
    return GpuUse(memory.used, memory.total, busy)


def _device(nvml: Any, uuid: str) -> Any:
    """Return the driver's handle; torch leaves out of a UUID what says whether it is a GPU or a slice of one."""
    if not uuid.startswith(("GPU-", "MIG-")):
        with suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
        uuid = f"MIG-{uuid}"
    return nvml.nvmlDeviceGetHandleByUUID(uuid)
