"""The model of the benchmark: 32 floats through an MLP of 32 → 128 → 128 → 1, weights by a fixed seed."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pelton.models.torch_model import TorchModel


class Mlp(TorchModel):
    """Scores 32 floats."""

    def build(self) -> nn.Module:
        """Return the network, the same one at every call."""
        torch.manual_seed(7)
        return nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))

    def prepare(self, events: Sequence[Any]) -> Tensor:
        """Return a float32 tensor of shape (n, 32)."""
        values = chain.from_iterable([event.x for event in events])
        return torch.from_numpy(np.fromiter(values, np.float32, 32 * len(events)).reshape(-1, 32))

    def finish(self, outputs: Tensor) -> Tensor:
        """Return one score an event."""
        return outputs.squeeze(1)
