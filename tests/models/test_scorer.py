"""The scorer: one outcome for every event and in its place, whatever the model does."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pelton.errors import ModelError
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection

Rigs = Callable[..., Any]


class Finisher:
    """A model whose `finish` gives what a test asks for; row i is given the number 2 x."""

    def __init__(self, finish: Callable[[torch.Tensor], Any]) -> None:
        self.finish = finish

    def prepare(self, events: list[Any]) -> torch.Tensor:
        return torch.tensor([event.x for event in events], dtype=torch.float64)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs * 2


def test_scores_are_plain_numbers_in_the_order_of_the_events(rig: Rigs) -> None:
    scores = rig("doubler").score({"x": 3}, {"x": -1.5}, {"x": 0})
    assert scores == [6.0, -3.0, 0.0]
    assert {type(score) for score in scores} == {float}


def test_nothing_in_nothing_out(rig: Rigs) -> None:
    doubler = rig("doubler")
    assert doubler.scorer.score([]) == []
    assert doubler.model.batches == []


def test_more_events_than_max_size_are_scored_in_turns(rig: Rigs) -> None:
    doubler = rig("doubler", max_size=4)
    assert doubler.scorer.score(doubler.numbers(*range(10))) == [2.0 * x for x in range(10)]
    assert doubler.model.batches == [4, 4, 2]


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (lambda y: y.tolist(), [2.0, 4.0]),
        (lambda y: tuple(y.tolist()), [2.0, 4.0]),
        (lambda y: y.numpy(), [2.0, 4.0]),
        (lambda y: y.to(torch.bfloat16), [2.0, 4.0]),
        (lambda y: y.to(torch.int64), [2, 4]),
        (lambda y: y > 3, [False, True]),
        (lambda y: torch.stack([y, -y], dim=1), [[2.0, -2.0], [4.0, -4.0]]),
        (lambda y: [{"p": float(v), "to": "z"} for v in y], [{"p": 2.0, "to": "z"}, {"p": 4.0, "to": "z"}]),
        (lambda y: [{"p": v} for v in y.numpy()], [{"p": 2.0}, {"p": 4.0}]),
        (lambda y: [v * torch.ones(2) for v in y], [[2.0, 2.0], [4.0, 4.0]]),
        (lambda y: np.array(["late", "on time"]), ["late", "on time"]),
        (lambda y: np.array([{"a": 1}, None], dtype=object), [{"a": 1}, None]),
        (lambda y: ["spät", "on time"], ["spät", "on time"]),
        (lambda y: [2**63, True], [2**63, True]),
    ],
)
def test_every_usual_form_of_scores_becomes_plain_values(
    rig_of: Rigs, finish: Callable[[torch.Tensor], Any], expected: list[Any]
) -> None:
    scores = rig_of(Finisher(finish)).score({"x": 1}, {"x": 2})
    assert scores == expected
    assert [type(score) for score in scores] == [type(score) for score in expected]


@pytest.mark.parametrize(
    ("finish", "said"),
    [
        (lambda y: y[:-1], "returned 2 scores for a batch of 3 events"),
        (lambda y: torch.cat([y, y]), "returned 6 scores for a batch of 3 events"),
        (lambda y: y.mean(), "finish returned a single value"),
        (lambda y: {"scores": y}, "finish returned dict"),
        (lambda y: None, "finish returned NoneType"),
        (lambda y: "abc", "finish returned str"),
    ],
)
def test_scores_that_cannot_be_assigned_are_the_models_fault_for_the_whole_batch(
    rig_of: Rigs, finish: Callable[[torch.Tensor], Any], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        rig_of(Finisher(finish)).score({"x": 1}, {"x": 2}, {"x": 3})


@pytest.mark.parametrize("stage", ["prepare", "forward", "finish"])
def test_b02_one_raising_record_of_eight_costs_only_its_own_score(rig: Rigs, stage: str) -> None:
    raiser = rig("raiser")
    rows: list[dict[str, Any]] = [{"x": x} for x in range(8)]
    rows[5]["mark"] = stage
    outcomes = raiser.score(*rows)
    culprit = outcomes.pop(5)
    assert outcomes == [0.0, 2.0, 4.0, 6.0, 8.0, 12.0, 14.0]
    # It was in the batches of 8, 4 and 2, and then alone.
    assert culprit == Rejection(Code.MODEL_ERROR, f"cannot {stage} this one", stage, "ValueError", 4)
    assert raiser.model.batches == [8, 4, 4, 2, 1, 1, 2]


def test_b02_any_set_of_culprits_is_found_and_no_other_record_is_touched(rig: Rigs) -> None:
    raiser = rig("raiser", max_size=64)
    dice = random.Random(2)
    for _ in range(20):
        n = dice.randint(1, 64)
        marks = [dice.choice(["prepare", "forward", "finish", None, None, None]) for _ in range(n)]
        rows = [{"x": i, **({"mark": mark} if mark else {})} for i, mark in enumerate(marks)]
        for i, (mark, outcome) in enumerate(zip(marks, raiser.score(*rows), strict=True)):
            assert outcome.stage == mark if mark else outcome == 2.0 * i


def test_b02_a_failure_that_goes_away_when_asked_again_costs_nothing(rig_of: Rigs) -> None:
    calls = []

    def once(outputs: torch.Tensor) -> torch.Tensor:
        calls.append(len(outputs))
        if len(calls) == 1:
            raise ConnectionError("feature store away")
        return outputs

    assert rig_of(Finisher(once)).score(*({"x": x} for x in range(4))) == [0.0, 2.0, 4.0, 6.0]
    assert calls == [4, 2, 2]


def test_b02_an_exception_that_cannot_be_printed_is_still_one_records(rig_of: Rigs) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def finish(outputs: torch.Tensor) -> torch.Tensor:
        if 6.0 in outputs:
            raise MuteError
        return outputs

    good, bad = rig_of(Finisher(finish)).score({"x": 1}, {"x": 3})
    assert good == 2.0
    assert bad.code is Code.MODEL_ERROR
    assert bad.exception.endswith("MuteError")


@pytest.mark.parametrize("size", [1, 2, 8])
def test_b12_scores_that_are_no_numbers_are_rejected_alone(rig: Rigs, size: int) -> None:
    giver = rig("nan-giver")
    for wish in ("nan", "inf", "-inf"):
        outcomes = giver.score({"x": 1, "give": wish}, *({"x": x} for x in range(1, size)))
        assert outcomes[0] == Rejection(Code.MODEL_ERROR, f"the score is {wish}", "finish", "BadScore", 1)
        assert outcomes[1:] == [2.0 * x for x in range(1, size)]


def test_b12_one_record_that_spoils_a_whole_batch_is_found(rig_of: Rigs) -> None:
    def centred(outputs: torch.Tensor) -> torch.Tensor:
        return outputs + 0 * torch.where(outputs == 10, torch.nan, outputs).mean()

    outcomes = rig_of(Finisher(centred)).score(*({"x": x} for x in range(8)))
    culprit = outcomes.pop(5)
    assert (culprit.code, culprit.stage, culprit.attempts) == (Code.MODEL_ERROR, "finish", 4)
    assert outcomes == [2.0 * x for x in range(8) if x != 5]


@pytest.mark.parametrize(
    "bad",
    [
        {"p": float("nan")},
        [1.0, [float("-inf")]],
        float("inf"),
        np.float32("nan"),
        object(),
        {"p": {1: 2.0}},
        b"bytes",
        2**64,
        "\ud800",
    ],
)
def test_b12_scores_that_json_cannot_hold_are_rejected_alone(rig_of: Rigs, bad: Any) -> None:
    first, culprit, last = rig_of(Finisher(lambda y: [0.5, bad, "fine"])).score({"x": 1}, {"x": 2}, {"x": 3})
    assert (first, last) == (0.5, "fine")
    assert (culprit.code, culprit.stage) == (Code.MODEL_ERROR, "finish")
    assert culprit.reason.startswith("the score cannot be written: ")


@pytest.mark.parametrize(
    ("scores", "bad"),
    [
        ([0.5, float("nan"), 2.0], [1]),
        ([float("inf"), 1.0, float("-inf")], [0, 2]),
        (["late", "\ud800", "early"], [1]),
        ([1e308, 1e308, 1e308], []),
    ],
)
def test_b12_a_plain_list_of_one_kind_is_looked_at_too(rig_of: Rigs, scores: list[Any], bad: list[int]) -> None:
    outcomes = rig_of(Finisher(lambda y: list(scores))).score({"x": 1}, {"x": 2}, {"x": 3})
    assert [row for row, outcome in enumerate(outcomes) if isinstance(outcome, Rejection)] == bad
    assert [outcomes[row] for row in range(3) if row not in bad] == [scores[row] for row in range(3) if row not in bad]


def test_b12_a_score_that_contains_itself_is_rejected_alone(rig_of: Rigs) -> None:
    endless: list[Any] = []
    endless.append(endless)
    culprit, good = rig_of(Finisher(lambda y: [endless, 1.0])).score({"x": 1}, {"x": 2})
    assert (culprit.code, good) == (Code.MODEL_ERROR, 1.0)


def test_b12_inputs_beyond_the_models_dtype_are_rejected_alone(rig: Rigs) -> None:
    doubler = rig("doubler")
    # 1e39 is a fine double and infinite as float32.
    outcomes = doubler.score({"x": 1}, {"x": 1e39}, {"x": 2}, {"x": -1e300})
    assert outcomes[::2] == [2.0, 4.0]
    for culprit in outcomes[1::2]:
        assert (culprit.code, culprit.stage, culprit.attempts) == (Code.NOT_FINITE, "prepare", 1)
        assert culprit.reason == "the input is NaN, infinite or beyond the model's dtype"
    assert doubler.model.batches == [4, 2]


@pytest.mark.parametrize(("dtype", "value"), [(torch.float32, 3e38), (torch.float16, 6e4), (torch.bfloat16, 3e38)])
def test_b12_finite_numbers_whose_sum_is_not_are_no_fault(rig_of: Rigs, dtype: torch.dtype, value: float) -> None:
    """One sum clears a batch that holds nothing but numbers; where it overflows, each of them is looked at."""
    rig = rig_of(Finisher(lambda y: [float(row) for row in torch.isfinite(y)]))
    rig.model.forward = lambda inputs: inputs
    rig.model.prepare = lambda events: torch.tensor([event.x for event in events], dtype=torch.float64).to(dtype)
    assert rig.score(*[{"x": value}] * 4) == [1.0] * 4
    bad = rig.score(*[{"x": value}] * 3, {"x": 1e39}, {"x": -1e39})
    assert bad[:3] == [1.0] * 3
    assert [outcome.code for outcome in bad[3:]] == [Code.NOT_FINITE] * 2


def test_b12_a_batch_of_nothing_but_bad_inputs_never_reaches_the_device(rig: Rigs) -> None:
    doubler = rig("doubler")
    outcomes = doubler.score({"x": 1e39}, {"x": 1e40})
    assert [outcome.code for outcome in outcomes] == [Code.NOT_FINITE] * 2
    assert doubler.model.batches == [2]


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        (lambda x: {"dense": x.float(), "codes": x.long()}, "input dense"),
        (lambda x: (torch.ones(3), x.float()), "input 1"),
        (lambda x: (x.float().reshape(-1, 1).expand(-1, 4),), "input 0"),
        (lambda x: x.numpy().astype(np.float32), "the input"),
        (lambda x: {"nested": (x.to(torch.bfloat16),)}, "input 0"),
    ],
)
def test_b12_every_input_column_is_looked_at(rig_of: Rigs, inputs: Callable[[torch.Tensor], Any], named: str) -> None:
    class Columns(Finisher):
        def prepare(self, events: list[Any]) -> Any:
            return inputs(super().prepare(events))

        def forward(self, inputs: Any) -> Any:
            return torch.ones(2)

    outcomes = rig_of(Columns(lambda y: y)).score({"x": 1}, {"x": 1e300}, {"x": 2})
    assert outcomes[::2] == [1.0, 1.0]
    assert outcomes[1].code is Code.NOT_FINITE
    assert outcomes[1].reason.startswith(f"{named} is NaN")


def test_a_model_that_takes_nan_for_a_missing_value_may_say_so(rig: Rigs, write_package: Callable[..., Any]) -> None:
    code = """
import torch

class Filling:
    def __init__(self, package_dir, device): ...
    def prepare(self, events): return torch.tensor([float("nan") if e.x == 0 else e.x for e in events])
    def forward(self, inputs): return torch.nan_to_num(inputs, nan=-1.0)
    def finish(self, outputs): return outputs
"""
    strict = rig(write_package(code, entry="model:Filling"))
    assert strict.score({"x": 0}, {"x": 2})[0].code is Code.NOT_FINITE
    lenient = rig(write_package(code, entry="model:Filling", finite_inputs=False))
    assert lenient.score({"x": 0}, {"x": 2}) == [-1.0, 2.0]


def test_b24_rows_of_another_shape_are_rejected_alone(rig_of: Rigs) -> None:
    class Stacking:
        def prepare(self, events: list[Any]) -> torch.Tensor:
            return torch.stack([torch.ones(int(event.x)) for event in events])

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(inputs, torch.ones(1, 3))

        def finish(self, outputs: torch.Tensor) -> torch.Tensor:
            return outputs[:, 0]

    three, five, also_three = rig_of(Stacking()).score({"x": 3}, {"x": 5}, {"x": 3})
    assert (three, also_three) == (3.0, 3.0)
    assert (five.code, five.stage, five.exception) == (Code.MODEL_ERROR, "forward", "RuntimeError")


def test_padding_never_shows(rig: Rigs) -> None:
    slow = rig("slow-shapes", max_size=8)
    for n in range(1, 9):
        assert slow.scorer.score(slow.numbers(*range(n))) == [2.0 * x for x in range(n)]
    assert slow.model.compiled == [1, 2, 4, 8]


def test_padding_repeats_the_last_event(rig_of: Rigs) -> None:
    seen: list[list[float]] = []

    class Watching(Finisher):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            seen.append(inputs.tolist())
            return super().forward(inputs)

    rig_of(Watching(lambda y: y), package="slow-shapes").score({"x": 1}, {"x": 2}, {"x": 3})
    assert seen == [[1.0, 2.0, 3.0, 3.0]]


def test_a_bad_last_record_is_rejected_once_though_padding_repeats_it(rig: Rigs) -> None:
    slow = rig("slow-shapes", max_size=8)
    outcomes = slow.score({"x": 1}, {"x": 2}, {"x": 1e39})
    assert outcomes[:2] == [2.0, 4.0]
    assert outcomes[2].code is Code.NOT_FINITE
    assert len(outcomes) == 3


def test_models_run_without_gradients_even_with_a_forward_of_their_own(rig_of: Rigs) -> None:
    weight = torch.ones(1, requires_grad=True)

    def weighed(outputs: torch.Tensor) -> torch.Tensor:
        result = outputs * weight
        assert not result.requires_grad
        return result

    assert rig_of(Finisher(weighed)).score({"x": 1}) == [2.0]


def test_each_batch_is_timed_once_a_stage(rig: Rigs) -> None:
    doubler = rig("doubler")
    doubler.score({"x": 1}, {"x": 2})
    doubler.score({"x": 1})
    text = doubler.metrics.exposition()
    for stage in ("prepare", "device", "finish"):
        assert f"pelton_{stage}_seconds_count 2.0" in text


def test_the_time_of_the_device_lasts_until_the_device_is_done(rig_of: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    class Asynchronous:
        """A GPU: `forward` returns in 1 s, the device is done 4 s later, and `finish` takes 2 s."""

        device = torch.device("cuda", 0)

        def prepare(self, events: Any) -> torch.Tensor:
            return torch.tensor([event.x for event in events])

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            clock[0] += 1.0
            return inputs

        def finish(self, outputs: torch.Tensor) -> torch.Tensor:
            clock[0] += 2.0
            return outputs

    def wait(_: object) -> None:
        clock[0] += 4.0

    monkeypatch.setattr("pelton.models.device._in_use", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", wait)
    monkeypatch.setattr("pelton.models.forward_pass.perf_counter", lambda: clock[0])
    slow = rig_of(Asynchronous())
    slow.score({"x": 1})
    took = {
        stage: slow.metrics.registry.get_sample_value(f"pelton_{stage}_seconds_sum")
        for stage in ("prepare", "device", "finish")
    }
    assert took == {"prepare": 0.0, "device": 5.0, "finish": 2.0}


def test_b02_a_model_that_asks_to_exit_on_one_record_loses_only_that_record(rig_of: Rigs) -> None:
    class Exiting:
        def prepare(self, events: Any) -> torch.Tensor:
            if any(event.x == 3.0 for event in events):
                raise SystemExit(2)
            return torch.tensor([event.x for event in events])

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return inputs * 2

        def finish(self, outputs: torch.Tensor) -> torch.Tensor:
            return outputs

    rig = rig_of(Exiting(), max_size=8)
    scores = rig.scorer.score(rig.numbers(1.0, 2.0, 3.0, 4.0))
    assert [scores[0], scores[1], scores[3]] == [2.0, 4.0, 8.0]
    assert (scores[2].code, scores[2].exception) == (Code.MODEL_ERROR, "SystemExit")
