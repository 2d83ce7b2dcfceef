"""The network: embeddings beside numbers, then two hidden layers."""

import torch
from torch import nn

from .features import N_NUMBERS, N_ROWS, Inputs

_CATEGORIES, _WIDTH, _HIDDEN = 5, 8, 64


class DelayNet(nn.Module):
    """Gives the probability that a flight arrives more than 15 minutes late."""

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_ROWS, _WIDTH)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.hidden = nn.Sequential(
            nn.Linear(_CATEGORIES * _WIDTH + N_NUMBERS, _HIDDEN),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(_HIDDEN, _HIDDEN // 2),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.head = nn.Linear(_HIDDEN // 2, 1)

    def logits(self, inputs: Inputs) -> torch.Tensor:
        """Return the log-odds, one per event."""
        categories, numbers = inputs
        embedded = self.embedding(categories).flatten(1)
        odds: torch.Tensor = self.head(self.hidden(torch.cat((embedded, numbers), dim=1)))
        return odds.squeeze(1)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """Return the probabilities, one per event."""
        return torch.sigmoid(self.logits(inputs))
