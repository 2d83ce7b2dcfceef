"""Twice the number, or the number that is none which the event asks for."""

import torch


class NanGiver:
    def __init__(self, package_dir, device):
        self.batches = []
        self.wishes = []

    def prepare(self, events):
        self.batches.append(len(events))
        self.wishes = [event.give for event in events]
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        outputs = inputs * 2
        for row, wish in enumerate(self.wishes):
            if wish is not None:
                outputs[row] = float(wish)
        return outputs

    def finish(self, outputs):
        return outputs
