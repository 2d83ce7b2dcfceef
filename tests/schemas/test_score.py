"""Scores on the wire: strict JSON, by the published schema, one for each record."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import pelton.schemas.score
from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection
from pelton.schemas.score import Score, ScoreEncoder

WIRE = Path(pelton.schemas.score.__file__).parent / "wire" / "score.json"
VALIDATOR = Draft202012Validator(json.loads(WIRE.read_text()))


def block(count: int, topic: str = "flights") -> Records:
    return Records(topic, 2, 0, [], [50 + row for row in range(count)], [], 0, 0.0)


def encode(scores: list[Any], ids: list[str] | None = None, **more: Any) -> list[Any]:
    ids = ids or [f"e{row}" for row in range(len(scores))]
    return list(ScoreEncoder("m", "1@abc").encode(block(len(scores)), ids, scores, **more))


def strict(value: bytes) -> Any:
    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(value, parse_constant=refuse)


def test_value_is_exactly_what_the_design_says() -> None:
    (value,) = encode([0.25])
    assert strict(value) == {
        "event_id": "e0",
        "model": "m",
        "version": "1@abc",
        "source": {"topic": "flights", "partition": 2, "offset": 50},
        "score": 0.25,
    }


def test_event_time_is_there_when_declared() -> None:
    first, second = encode([0.5, 0.75], times=["2013-01-01T05:00:00Z", None])
    assert strict(first)["event_time"] == "2013-01-01T05:00:00Z"
    assert strict(second)["event_time"] is None
    VALIDATOR.validate(strict(first))


@pytest.mark.parametrize(
    "score",
    [0.1, -0.0, 1e-320, 1.7976931348623157e308, 3, True, "late", [0.1, 0.9], {"late": 0.1, "label": None}, "null"],
)
def test_score_comes_back_as_it_was(score: Any) -> None:
    first, second = encode([0.5, score])
    assert strict(second)["score"] == score
    assert type(strict(second)["score"]) is type(score)
    assert strict(first)["score"] == 0.5
    VALIDATOR.validate(strict(second))
    assert Score.model_validate_json(second).score == score


def test_columns_stay_together() -> None:
    scores = [row / 7 for row in range(1000)]
    documents = [strict(value) for value in encode(scores)]
    assert [document["score"] for document in documents] == scores
    assert [document["event_id"] for document in documents] == [f"e{row}" for row in range(1000)]
    assert [document["source"]["offset"] for document in documents] == list(range(50, 1050))


@pytest.mark.parametrize(
    "text", ['quote " and \\', "line\nbreak\r\u2028", "100% %b %d %%", "Grüße 🚀", "\x00\x1f", "}{,:"]
)
def test_any_text_is_safe_in_every_place(text: str) -> None:
    encoder = ScoreEncoder(text, text)
    (value,) = encoder.encode(block(1, topic=text), [text], [text], [text])
    assert isinstance(value, bytes)
    assert strict(value) == {
        "event_id": text,
        "model": text,
        "version": text,
        "source": {"topic": text, "partition": 2, "offset": 50},
        "event_time": text,
        "score": text,
    }


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        math.inf,
        -math.inf,
        None,
        [0.5, math.nan],
        {"a": {"b": math.inf}},
        np.float32("nan"),
        np.float64("inf"),
    ],
)
def test_b12_scores_that_are_not_finite_become_rejections(bad: Any) -> None:
    first, middle, last = encode([0.5, bad, 0.25])
    assert isinstance(middle, Rejection)
    assert (middle.code, middle.stage) == (Code.MODEL_ERROR, "finish")
    assert (strict(first)["score"], strict(last)["score"]) == (0.5, 0.25)


class Odd:
    """Nothing that JSON can hold."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


@pytest.mark.parametrize("bad", [Odd(), object(), {None: 1}, [Odd()], "\ud800", nested(100_000), float])
def test_b12_scores_that_json_cannot_hold_become_rejections(bad: Any) -> None:
    first, middle, last = encode([0.5, bad, 0.25])
    assert isinstance(middle, Rejection)
    assert (middle.code, middle.stage) == (Code.MODEL_ERROR, "finish")
    assert (strict(first)["score"], strict(last)["score"]) == (0.5, 0.25)


def test_rejections_are_handed_through() -> None:
    rejection = Rejection(Code.MODEL_ERROR, "no", "forward", "ValueError")
    assert encode([rejection, 0.5])[0] is rejection
    assert strict(encode([rejection, 0.5])[1])["score"] == 0.5


@pytest.mark.parametrize("score", [np.float32(0.5), np.float64(0.5), np.array(0.5)])
def test_numpy_scalars_are_numbers(score: Any) -> None:
    assert strict(encode([score])[0])["score"] == 0.5


def test_no_records_have_no_scores() -> None:
    assert encode([]) == []


@pytest.mark.parametrize(("ids", "times"), [(["a"], None), (["a", "b"], [None])])
def test_columns_of_different_length_are_refused(ids: list[str], times: list[None] | None) -> None:
    with pytest.raises(ValueError, match="argument"):
        ScoreEncoder("m", "1").encode(block(2), ids, [0.5, 0.25], times)
