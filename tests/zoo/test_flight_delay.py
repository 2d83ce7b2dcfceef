"""The model as it ships: golden cases, the figures of its card, and answers where something is missing."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pelton.metrics import Metrics
from pelton.models.package import ModelPackage
from pelton.models.scorer import Scorer
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection

Score = Callable[[list[dict[str, Any]]], list[Any]]
WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")


def without_weather(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in WEATHER}


@pytest.mark.parametrize("max_size", [1, 256])
@pytest.mark.parametrize("fixed_shape", [False, True])
def test_golden_cases_hold_at_every_batch_shape(
    model: Any, package: ModelPackage, max_size: int, fixed_shape: bool
) -> None:
    Scorer(model, package, max_size, fixed_shape, Metrics()).start()


def test_golden_cases_cover_what_may_be_missing(package: ModelPackage) -> None:
    golden = [case.event for case in package.golden]
    assert len(golden) >= 20
    assert any(b'"ZZ"' in event for event in golden)
    assert any(b'"temp"' not in event for event in golden)


def test_weights_are_small(package: ModelPackage) -> None:
    assert (package.folder / "weights.safetensors").stat().st_size < 1_000_000


def test_the_card_tells_the_truth_about_sep_to_dec(
    package: ModelPackage, score: Score, autumn: list[Any], module: Any
) -> None:
    judge = module("evaluation")
    labelled = [(event, late) for event, late in autumn if late is not None]
    scores = score([event for event, _ in labelled])
    labels = [late for _, late in labelled]
    auc, error = judge.auc(labels, scores), judge.calibration_error(judge.reliability(labels, scores))
    assert auc > 0.66
    card = (package.folder / "CARD.md").read_text()
    stated = f"| {auc:.4f} | {judge.brier(labels, scores):.4f} | {error:.4f} |"
    assert re.search(rf"this model, Sep-Dec\*\*, {len(labels):,} flights {re.escape(stated)}", card)


def test_scores_tell_flights_apart_without_weather(score: Score, autumn: list[Any], module: Any) -> None:
    labelled = [(event, late) for event, late in autumn[::10] if late is not None]
    scores = score([without_weather(event) for event, _ in labelled])
    assert module("evaluation").auc([late for _, late in labelled], scores) > 0.60


@pytest.mark.parametrize(
    "change",
    [
        without_weather,
        lambda event: {**event, "carrier": "ZZ"},
        lambda event: {**event, "origin": "XXX"},
        lambda event: {**event, "dest": "XXX"},
        lambda event: {**event, "distance": None, "scheduled_arrival": None},
        lambda event: {**without_weather(event), "carrier": "ZZ", "dest": "XXX", "origin": "XXX"},
    ],
    ids=["no weather", "carrier", "origin", "dest", "no plan", "all at once"],
)
def test_the_unknown_is_scored_like_the_average(
    score: Score, sample: list[dict[str, Any]], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    known, unknown = np.array(score(sample)), np.array(score([change(event) for event in sample]))
    assert ((unknown > 0.01) & (unknown < 0.99)).all()
    assert unknown.mean() == pytest.approx(known.mean(), abs=0.06)
    assert np.corrcoef(known, unknown)[0, 1] > 0.4


def test_bad_weather_makes_late(score: Score, sample: list[dict[str, Any]]) -> None:
    storm = {"precip": 0.5, "visib": 0.5, "humid": 97.0, "wind_speed": 30.0, "wind_gust": 45.0, "pressure": 990.0}
    fair = {"precip": 0.0, "visib": 10.0, "humid": 45.0, "wind_speed": 6.0, "wind_gust": None, "pressure": 1022.0}
    stormy = np.mean(score([{**event, **storm} for event in sample]))
    assert stormy > np.mean(score([{**event, **fair} for event in sample])) + 0.2


def test_a_sensor_gone_mad_gets_a_score(score: Score, sample: list[dict[str, Any]]) -> None:
    [wild] = score([{**sample[0], **dict.fromkeys(WEATHER, -1e300), "wind_speed": 1e300}])
    assert 0.0 < wild < 1.0


def test_what_the_schema_does_not_name_is_ignored(score: Score, sample: list[dict[str, Any]]) -> None:
    later = {"arr_delay": 300, "dep_time": "1859", "gate": {"number": 7}}
    assert score([{**sample[0], **later}]) == score([sample[0]])


def test_b02_a_time_that_is_none_costs_only_its_own_record(score: Score, sample: list[dict[str, Any]]) -> None:
    events = sample[:9]
    alone = score(events)
    broken = score([*events[:4], {**events[4], "scheduled_departure": "soon"}, *events[5:]])
    rejection = broken.pop(4)
    assert isinstance(rejection, Rejection)
    assert (rejection.code, rejection.stage) == (Code.MODEL_ERROR, "prepare")
    assert broken == pytest.approx(alone[:4] + alone[5:], abs=1e-6)
