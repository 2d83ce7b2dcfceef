"""Warm-up: real calls at every shape in use, checked against the golden cases, before anybody is served."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelton.errors import DeviceLost, OutOfMemory, PackageError

Rigs = Callable[..., Any]
Write = Callable[..., Path]


def with_warmup(body: str) -> str:
    """Return the doubler's code with a warmup method of this body."""
    return f"""
import torch
from pelton.errors import DeviceLost, OutOfMemory

class Doubler:
    def __init__(self, package_dir, device): self.warmed = []
    def prepare(self, events): return torch.tensor([event.x for event in events])
    def forward(self, inputs): return inputs * 2
    def finish(self, outputs): return outputs
    def warmup(self, sizes): {body}
"""


@pytest.mark.parametrize("max_size", [32, 20, 1])
def test_b26_no_call_after_the_start_meets_a_shape_for_the_first_time(rig: Rigs, max_size: int) -> None:
    slow = rig("slow-shapes", max_size=max_size)
    slow.scorer.start()
    warm = list(slow.model.compiled)
    dice = random.Random(26)
    for _ in range(200):
        numbers = [float(x) for x in range(dice.randint(1, max_size))]
        assert slow.scorer.score(slow.numbers(*numbers)) == [2 * x for x in numbers]
    assert slow.model.compiled == warm


def test_what_a_warm_up_takes_is_not_measured(rig: Rigs) -> None:
    doubler = rig("doubler", max_size=32)
    doubler.scorer.start()
    assert doubler.model.batches != []
    counts = [f"pelton_{stage}_seconds_count" for stage in ("prepare", "device", "finish")]
    assert [doubler.metrics.registry.get_sample_value(name) for name in counts] == [0, 0, 0]
    doubler.scorer.score(doubler.numbers(1.0))
    assert [doubler.metrics.registry.get_sample_value(name) for name in counts] == [1, 1, 1]


def test_b26_a_fixed_shape_is_the_only_one(rig: Rigs) -> None:
    slow = rig("slow-shapes", max_size=32, fixed_shape=True)
    slow.scorer.start()
    slow.scorer.score(slow.numbers(1.0))
    assert slow.model.compiled == [32]


def test_b26_any_shape_is_warmed_at_its_ends(rig: Rigs) -> None:
    doubler = rig("doubler", max_size=32)
    doubler.scorer.start()
    assert doubler.model.batches == [1, 32]


def test_b26_the_models_own_warmup_gets_the_sizes_in_use(rig: Rigs, write_package: Write) -> None:
    folder = write_package(with_warmup("self.warmed += sizes"), batching={"shapes": "powers-of-two"})
    own = rig(folder, max_size=6)
    own.scorer.start()
    assert own.model.warmed == [1, 2, 4, 6]


def test_b26_a_package_with_nothing_to_warm_up_with_is_refused(rig: Rigs, write_package: Write) -> None:
    cold = rig(write_package(golden=None))
    with pytest.raises(PackageError, match=r"cannot be warmed up: add golden cases \(golden: golden\.jsonl"):
        cold.scorer.start()
    rig(write_package(with_warmup("..."), golden=None)).scorer.start()


def test_b27_a_warmup_that_raises_keeps_the_version_out_with_the_reason(rig: Rigs, write_package: Write) -> None:
    broken = rig(write_package(with_warmup("raise OSError('no kernel cache')")))
    for _ in range(2):
        with pytest.raises(
            PackageError, match=r"the warmup method of model model 1@.* raised OSError: no kernel cache"
        ):
            broken.scorer.start()


@pytest.mark.parametrize("error", [OutOfMemory, DeviceLost])
def test_a_device_that_gives_up_in_warmup_is_not_the_packages_fault(
    rig: Rigs, write_package: Write, error: type[Exception]
) -> None:
    broken = rig(write_package(with_warmup(f"raise {error.__name__}('no')")))
    with pytest.raises(error):
        broken.scorer.start()


def test_golden_cases_that_hold_pass(rig: Rigs) -> None:
    for package in ("doubler", "raiser", "nan-giver", "slow-shapes"):
        rig(package).scorer.start()


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (
            [{"event": {"x": 1}, "score": 2.0}, {"event": {"x": 3}, "score": 6.1}],
            r"line 2 of golden\.jsonl.*: expected 6\.1, got 6\.0 in a batch of 8 \(tolerance 1e-06\)",
        ),
        ([{"event": {"x": 1}, "score": "late"}], "line 1 .*: expected late, got 2.0"),
        ([{"event": {"y": 1}, "score": 2.0}], "line 1 .* does not fit the input schema: .*x"),
        ([{"event": None, "score": 2.0}], "line 1 .* does not fit the input schema"),
        ([{"event": {"x": 1e39}, "score": 2.0}], "line 1 .* has no score .*NonFiniteInput in prepare"),
    ],
)
def test_a_golden_case_that_does_not_hold_is_told_with_both_scores(
    rig: Rigs, write_package: Write, cases: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(PackageError, match=said):
        rig(write_package(cases=cases)).scorer.start()


def test_every_golden_case_counts_even_if_there_are_more_than_a_batch_holds(rig: Rigs, write_package: Write) -> None:
    cases = [{"event": {"x": x}, "score": 2.0 * x} for x in range(20)]
    rig(write_package(cases=cases)).scorer.start()
    cases[19]["score"] = 0.0
    with pytest.raises(PackageError, match="line 20"):
        rig(write_package(cases=cases)).scorer.start()


def test_the_tolerance_is_the_packages_own(rig: Rigs, write_package: Write) -> None:
    near = [{"event": {"x": 1}, "score": 2.01}]
    with pytest.raises(PackageError, match=r"expected 2\.01"):
        rig(write_package(cases=near)).scorer.start()
    rig(write_package(cases=near, tolerance=0.01)).scorer.start()


def test_a_model_that_is_wrong_in_one_shape_only_is_caught(rig: Rigs, write_package: Write) -> None:
    code = with_warmup("...").replace("return inputs * 2", "return inputs * (2 if len(inputs) < 8 else 3)")
    with pytest.raises(PackageError, match=r"expected 3\.0, got 4\.5 in a batch of 8"):
        rig(write_package(code)).scorer.start()


def test_a_model_that_loses_scores_is_the_packages_fault(rig: Rigs, write_package: Write) -> None:
    code = with_warmup("...").replace("return outputs", "return outputs[:1]")
    with pytest.raises(PackageError, match="in a batch of 8: the model returned 1 scores for a batch of 8 events"):
        rig(write_package(code)).scorer.start()
