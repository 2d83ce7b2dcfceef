"""Twice the number."""

import torch


class Doubler:
    def __init__(self, package_dir, device):
        self.batches = []

    def prepare(self, events):
        self.batches.append(len(events))
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        return inputs * 2

    def finish(self, outputs):
        return outputs
