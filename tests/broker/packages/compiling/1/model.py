"""Twice the number; the first call in each batch shape compiles, which takes its time and is said."""

import json
import sys
import time

import torch

COMPILE_S = 0.2


class Compiling:
    def __init__(self, package_dir, device):
        self.compiled = set()

    def prepare(self, events):
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        if len(inputs) not in self.compiled:
            time.sleep(COMPILE_S)
            self.compiled.add(len(inputs))
            sys.stderr.write(json.dumps({"event": "compiled", "rows": len(inputs)}) + "\n")
        return inputs * 2

    def finish(self, outputs):
        return outputs
