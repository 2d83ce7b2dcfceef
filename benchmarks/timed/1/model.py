"""Takes 20 ms a batch and 2 ms an event, whatever the machine, and gives the number back."""

import time

import torch


class Timed:
    def __init__(self, package_dir, device):
        pass

    def prepare(self, events):
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        time.sleep(0.020 + 0.002 * len(inputs))
        return inputs

    def finish(self, outputs):
        return outputs.tolist()
