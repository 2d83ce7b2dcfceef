"""How many threads a product would be computed with, in the thread that computes it."""

import ctypes
from pathlib import Path

import torch


class Threads:
    """Asks the OpenMP runtime that torch has loaded: it keeps that number by thread."""

    def __init__(self, package_dir, device):
        mapped = Path("/proc/self/maps").read_text().split()
        (runtime,) = {path for path in mapped if "libgomp" in path or "libiomp" in path}
        self.runtime = ctypes.CDLL(runtime)

    def prepare(self, events):
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        return torch.full_like(inputs, self.runtime.omp_get_max_threads())

    def finish(self, outputs):
        return outputs.tolist()
