"""Will this flight arrive more than 15 minutes late? Asked at its scheduled departure."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from pelton.models.torch_model import TorchModel

from .features import Inputs, encode
from .network import DelayNet


class FlightDelay(TorchModel):
    """A flight as planned and the weather at its origin in; a probability out."""

    def build(self) -> nn.Module:
        """Return the network that the weights belong to."""
        return DelayNet()

    def prepare(self, events: Sequence[Any]) -> Inputs:
        """Turn flights into rows of the embedding table and numbers."""
        return encode(events)
