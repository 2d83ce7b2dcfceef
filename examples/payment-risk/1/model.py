"""How risky is a card payment? A logistic regression, to show what a model package needs."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from pelton.models.torch_model import TorchModel


class PaymentRisk(TorchModel):
    """Two numbers of a payment in, a probability out."""

    def build(self) -> nn.Module:
        """Return the module that the weights belong to."""
        return nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())

    def prepare(self, events: Sequence[Any]) -> torch.Tensor:
        """Turn payments into one row each."""
        return torch.tensor([(math.log1p(event.amount), event.payments_today) for event in events])
