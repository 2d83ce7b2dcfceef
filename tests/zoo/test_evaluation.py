"""How scores are judged, against counts made the slow way."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def judge(module: Any) -> ModuleType:
    found: ModuleType = module("evaluation")
    return found


@pytest.mark.parametrize("levels", [2, 7, 1000])
def test_auc_is_the_share_of_pairs_in_the_right_order(judge: ModuleType, levels: int) -> None:
    random = np.random.default_rng(levels)
    scores = random.integers(0, levels, 90) / levels
    labels = random.random(90) < 0.3
    pairs = [(late, other) for late in scores[labels] for other in scores[~labels]]
    right = sum(1.0 if late > other else 0.5 if late == other else 0.0 for late, other in pairs)
    assert judge.auc(labels, scores) == pytest.approx(right / len(pairs), abs=1e-12)


def test_auc_of_perfect_reversed_and_constant_scores(judge: ModuleType) -> None:
    labels = [0, 0, 1, 1]
    assert judge.auc(labels, [0.1, 0.2, 0.3, 0.4]) == 1.0
    assert judge.auc(labels, [0.4, 0.3, 0.2, 0.1]) == 0.0
    assert judge.auc(labels, [0.5] * 4) == 0.5


@pytest.mark.parametrize("labels", [[], [True, True], [False]])
def test_auc_needs_both_kinds_of_label(judge: ModuleType, labels: list[bool]) -> None:
    with pytest.raises(ValueError, match="both kinds"):
        judge.auc(labels, [0.5] * len(labels))


def test_brier_is_the_mean_squared_difference(judge: ModuleType) -> None:
    assert judge.brier([1, 0, 1], [0.5, 0.2, 1.0]) == pytest.approx((0.25 + 0.04) / 3)


def test_reliability_bins_run_from_low_to_high(judge: ModuleType) -> None:
    bins = judge.reliability([1, 0, 0, 1], [0.9, 0.1, 0.2, 0.7], bins=2)
    assert bins == [(2, pytest.approx(0.15), 0.0), (2, pytest.approx(0.8), 1.0)]


def test_equal_scores_share_a_bin(judge: ModuleType) -> None:
    """Else the order of the rows would make bins that differ where forecasts do not."""
    assert judge.reliability([0, 0, 1, 1], [0.5] * 4, bins=2) == [(4, 0.5, 0.5)]


def test_calibration_error_weighs_bins_by_size(judge: ModuleType) -> None:
    bins = [judge.Bin(30, 0.2, 0.1), judge.Bin(10, 0.5, 0.9)]
    assert judge.calibration_error(bins) == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)
