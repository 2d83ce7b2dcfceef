"""How many workers `workers: 0` means: one per GPU, or else one per core."""

import os
from collections.abc import Mapping
from pathlib import Path

from pelton.schemas.settings import Settings

DRIVER = Path("/proc/driver/nvidia/gpus")


def worker_count(settings: Settings, environ: Mapping[str, str] = os.environ, driver: Path = DRIVER) -> int:
    """Return the number of worker processes to start.

    Zero is one for each GPU that this process may see, unless the device is the CPU or one GPU by number; where
    there is none, as many as the cores that this process may use hold, with `threads` each. Asks no library: the
    supervisor stays small.
    """
    if settings.workers:
        return settings.workers
    if ":" in settings.device:
        return 1
    n_gpus = 0 if settings.device == "cpu" else _visible_gpus(environ, driver)
    return n_gpus or max(1, len(os.sched_getaffinity(0)) // settings.threads)


def _visible_gpus(environ: Mapping[str, str], driver: Path) -> int:
    there = len(list(driver.iterdir())) if driver.is_dir() else 0
    allowed = environ.get("CUDA_VISIBLE_DEVICES")
    # CUDA takes the names up to the first one that it does not know; -1 is the usual way to say none.
    names = [] if allowed is None else [name.strip() for name in allowed.split(",")]
    hidden = names.index("-1") if "-1" in names else len([name for name in names if name])
    return there if allowed is None else min(there, hidden)
