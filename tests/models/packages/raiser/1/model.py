"""Twice the number, but a batch with a marked event raises in the stage that the mark names."""

import torch


class Raiser:
    def __init__(self, package_dir, device):
        self.batches = []
        self.marks = []

    def prepare(self, events):
        self.batches.append(len(events))
        self.marks = [event.mark for event in events]
        self.trip("prepare")
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        self.trip("forward")
        return inputs * 2

    def finish(self, outputs):
        self.trip("finish")
        return outputs

    def trip(self, stage):
        if stage in self.marks:
            raise ValueError(f"cannot {stage} this one")
