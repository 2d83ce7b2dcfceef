"""How good scores are: order (AUC) and honesty (Brier score, calibration)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Bin(NamedTuple):
    """Flights with about the same score: how many, what was forecast, and what came."""

    n: int
    forecast: float
    observed: float


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve, exactly: the share of (late, not late) pairs in the right order.

    Equal scores count as half right. Raises ValueError unless both kinds of label are there.
    """
    late = np.asarray(labels, bool)
    n_late = int(late.sum())
    n_other = late.size - n_late
    if not n_late or not n_other:
        raise ValueError("an AUC needs labels of both kinds")
    _, group, sizes = np.unique(np.asarray(scores, np.float64), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return float((ranks[late].sum() - n_late * (n_late + 1) / 2) / (n_late * n_other))


def brier(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the mean squared difference between score and outcome."""
    return float(np.mean((np.asarray(scores, np.float64) - np.asarray(labels, np.float64)) ** 2))


def reliability(labels: ArrayLike, scores: ArrayLike, bins: int = 10) -> list[Bin]:
    """Return bins of about as many flights each, from the lowest scores to the highest; equal scores share one."""
    late, forecast = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    edges = np.quantile(forecast, np.linspace(0, 1, bins + 1)[1:-1])
    bin_of = np.searchsorted(edges, forecast, side="left")
    members = (bin_of == i for i in np.unique(bin_of))
    return [Bin(int(each.sum()), float(forecast[each].mean()), float(late[each].mean())) for each in members]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the mean distance between forecast and observed over the bins (ECE)."""
    total = sum(each.n for each in bins)
    return sum(each.n * abs(each.forecast - each.observed) for each in bins) / total
