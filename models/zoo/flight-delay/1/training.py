"""How the weights came about: January to August to learn from, September to December to be judged by."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch
from torch import nn

from .features import MEASURES, MISSING, UNKNOWN_ROWS, WEATHER_MEASURES, Inputs, encode
from .flights import Event
from .network import DelayNet

SEED = 2013
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 4, 2048, 3e-3, 1e-4
HIDE_CATEGORY, HIDE_MEASURE, HIDE_WEATHER = 0.02, 0.01, 0.03
_READ_AT_ONCE = 4096

Decode = Callable[[list[bytes]], Sequence[Any]]


@dataclass(frozen=True)
class Examples:
    """Flights that arrived: inputs, labels (1 = late) and months, in the same order."""

    inputs: Inputs
    labels: torch.Tensor
    months: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, chosen: torch.Tensor) -> "Examples":
        """Return the examples at which `chosen` is true."""
        categories, numbers = self.inputs
        return Examples((categories[chosen], numbers[chosen]), self.labels[chosen], self.months[chosen])


def read(flights: Iterable[tuple[Event, bool | None]], decode: Decode) -> Examples:
    """Take the flights that have a label over the same road as in serving: JSON, the input schema, `encode`."""
    labelled = [(msgspec.json.encode(event), late, _month(event)) for event, late in flights if late is not None]
    values, labels, months = map(list, zip(*labelled, strict=True))
    parts = [encode(decode(values[i : i + _READ_AT_ONCE])) for i in range(0, len(values), _READ_AT_ONCE)]
    categories, numbers = (torch.cat(column) for column in zip(*parts, strict=True))
    return Examples((categories, numbers), torch.tensor(labels, dtype=torch.float32), torch.tensor(months))


def fit(examples: Examples, seed: int = SEED, epochs: int = EPOCHS) -> DelayNet:
    """Train a network; the same examples and seed give the same weights."""
    torch.manual_seed(seed)
    net = DelayNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = epochs * -(-len(examples) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps, pct_start=0.15)
    net.train()
    for _ in range(epochs):
        for chosen in torch.randperm(len(examples)).split(BATCH):  # type: ignore[no-untyped-call]
            batch = examples.where(chosen)
            loss = nn.functional.binary_cross_entropy_with_logits(net.logits(_hide(batch.inputs)), batch.labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return net.eval()


def unseen_month_logits(examples: Examples, seed: int = SEED, epochs: int = EPOCHS) -> torch.Tensor:
    """Return log-odds for every example from a network that has not seen its month."""
    logits = torch.empty(len(examples))
    for fold in range(4):
        held_out = examples.months % 4 == fold
        net = fit(examples.where(~held_out), seed, epochs)
        with torch.inference_mode():
            logits[held_out] = net.logits(examples.where(held_out).inputs)
    return logits


def calibrate(net: DelayNet, logits: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """Fit slope and shift of the log-odds on held-out ones, fold them into the last layer, and return them."""
    slope = torch.ones(1, dtype=torch.float64, requires_grad=True)
    shift = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    held_out, late = logits.double(), labels.double()
    optimizer = torch.optim.LBFGS([slope, shift], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(slope * held_out + shift, late)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        net.head.weight.mul_(slope.item())
        net.head.bias.mul_(slope.item()).add_(shift.item())
    return slope.item(), shift.item()


def predict(net: DelayNet, examples: Examples) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the probability of every example."""
    with torch.inference_mode():
        scores: np.ndarray[Any, np.dtype[np.float32]] = net(examples.inputs).numpy()
    return scores


def _hide(inputs: Inputs) -> Inputs:
    """Make some of what is known unknown, so that the unknown has learned places too."""
    categories, numbers = inputs[0].clone(), inputs[1].clone()
    for column, row in enumerate(UNKNOWN_ROWS):
        categories[torch.rand(len(categories)) < HIDE_CATEGORY, column] = row
    hidden = torch.rand(len(numbers), MEASURES.stop - MEASURES.start) < HIDE_MEASURE
    hidden[:, WEATHER_MEASURES] |= torch.rand(len(numbers), 1) < HIDE_WEATHER
    numbers[:, MEASURES].masked_fill_(hidden, 0.0)
    numbers[:, MISSING].masked_fill_(hidden, 1.0)
    return categories, numbers


def _month(event: Event) -> int:
    return int(str(event["scheduled_departure"])[5:7])
