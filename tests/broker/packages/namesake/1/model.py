"""Twice the number, counted in metrics of its own that are named as Pelton's are."""

import torch
from prometheus_client import Counter, Gauge

SCORED = Counter("pelton_scored", "Scored, as the model sees it.")
QUEUE = Gauge("pelton_queue_records", "Always 7.")


class Namesake:
    def __init__(self, package_dir, device):
        QUEUE.set(7)

    def prepare(self, events):
        SCORED.inc(1000 * len(events))
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs):
        return inputs * 2

    def finish(self, outputs):
        return outputs
