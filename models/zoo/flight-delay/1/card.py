"""The figures of CARD.md, written by the training script so that they are those of the weights beside it."""

import calendar
import re
from pathlib import Path
from typing import Any

import numpy as np

from .evaluation import auc, brier, calibration_error, reliability

_BEGIN, _END = "<!-- figures: written by train.py -->\n", "<!-- end of figures -->\n"

Column = np.ndarray[Any, Any]


def figures(
    labels: Column,
    scores: Column,
    months: Column,
    table: Column,
    learned_labels: Column,
    learned_scores: Column,
    n_weights: int,
) -> str:
    """Return the figures as Markdown.

    `scores` and `table` (of the carrier x hour table) are for the months September to December, `learned_scores`
    for January to August, each month scored by a network that has not seen it.
    """
    bins = reliability(labels, scores)
    base_rate = learned_labels.mean()
    lines = [
        "| | AUC | Brier | calibration error (10 bins) |",
        "|---|---|---|---|",
        _line(f"**this model, Sep-Dec**, {len(labels):,} flights", labels, scores),
        _line("table of carrier x hour, Sep-Dec", labels, table),
        _line("the rate of Jan-Aug for every flight, Sep-Dec", labels, np.full(len(labels), base_rate)),
        _line("this model, Jan-Aug, trained without the month it scores", learned_labels, learned_scores),
        "",
        "| month | flights | late | mean score | AUC |",
        "|---|---|---|---|---|",
        *(_month_line(month, labels[months == month], scores[months == month]) for month in np.unique(months)),
        "",
        "| tenth of Sep-Dec by score | mean score | late |",
        "|---|---|---|",
        *(f"| {i} | {each.forecast:.3f} | {each.observed:.3f} |" for i, each in enumerate(bins, start=1)),
        "",
        f"Late: {base_rate:.3f} of the flights of Jan-Aug, {labels.mean():.3f} of Sep-Dec. Weights: {n_weights:,}.",
    ]
    return "\n".join(lines) + "\n"


def put_into(path: Path, text: str) -> None:
    """Replace the figures in the card; raises ValueError if the card has no place for them."""
    card, n = re.subn(
        f"({re.escape(_BEGIN)}).*({re.escape(_END)})",
        lambda found: f"{found[1]}{text}{found[2]}",
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if n != 1:
        raise ValueError(f"{path} must hold the figures once, between {_BEGIN!r} and {_END!r}")
    path.write_text(card, encoding="utf-8")


def _line(name: str, labels: Column, scores: Column) -> str:
    error = calibration_error(reliability(labels, scores))
    return f"| {name} | {auc(labels, scores):.4f} | {brier(labels, scores):.4f} | {error:.4f} |"


def _month_line(month: int, labels: Column, scores: Column) -> str:
    return (
        f"| {calendar.month_abbr[month]} | {len(labels):,} | {labels.mean():.3f} | {scores.mean():.3f} "
        f"| {auc(labels, scores):.4f} |"
    )
