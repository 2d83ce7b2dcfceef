"""Twice the number; the first call in each batch shape compiles, which would take seconds."""

import torch


class SlowShapes:
    def __init__(self, package_dir, device):
        self.compiled = []

    def prepare(self, events):
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        if len(inputs) not in self.compiled:
            self.compiled.append(len(inputs))
        return inputs * 2

    def finish(self, outputs):
        return outputs
