"""What a request's value may be: strict JSON or a refusal before anything is sent."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from pelton.errors import InvalidRequest, SettingsError
from pelton.producers.call_options import CallOptions, OptionsOfCalls
from pelton.producers.request_body import as_bytes, encode_request
from pelton.schemas.request import Request


@dataclasses.dataclass
class Payment:
    amount: float


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"x": 1.5, "name": "null"}, {"x": 1.5, "name": "null"}),
        ([{"x": 1}, {"x": None}], [{"x": 1}, {"x": None}]),
        (Payment(2.0), {"amount": 2.0}),
        (np.array([[1.0, 2.5]]), [[1.0, 2.5]]),
        ({"x": np.float32(0.5)}, {"x": 0.5}),
        (0, 0),
    ],
)
def test_inputs_are_written_as_json(inputs: Any, expected: Any) -> None:
    value = encode_request(inputs)
    assert json.loads(value) == {"inputs": expected}
    assert Request.model_validate_json(value).inputs == expected


def test_model_and_params_are_there_when_given() -> None:
    assert json.loads(encode_request(1, "risk@2", {"top": 3})) == {
        "inputs": 1,
        "model": "risk@2",
        "params": {"top": 3},
    }


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.array([1, np.inf])])
@pytest.mark.parametrize("place", [lambda x: x, lambda x: [{"a": 1}, {"b": [x]}], lambda x: {"a": None, "b": x}])
def test_b12_what_is_not_finite_is_refused_before_it_is_sent(bad: Any, place: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        encode_request(place(bad))
    assert refused.value.code == "not_finite"
    with pytest.raises(InvalidRequest):
        encode_request(1, params={"p": place(bad)})


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize("bad", [None, object(), {"x": {1}.__iter__()}, {(1, 2): 3}, "\ud800", ENDLESS])
def test_b02_what_json_cannot_hold_is_refused_before_it_is_sent(bad: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        encode_request(bad)
    assert (refused.value.code, refused.value.retriable) == ("malformed", False)


def test_options_are_the_same_as_keyword_arguments() -> None:
    named = {field.name for field in dataclasses.fields(CallOptions) if field.init}
    assert named == set(OptionsOfCalls.__annotations__)


RIGHT: dict[str, Any] = {"kafka": "h:1", "requests": "a", "replies": "b"}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"replies": "a"}, "replies"),
        ({"requests": "a b"}, "requests"),
        ({"replies": ""}, "replies"),
        ({"kafka": " "}, "bootstrap.servers"),
        ({"kafka": {}}, "bootstrap.servers"),
        ({"repeats": -1}, "repeats"),
        ({"backoff_s": 0}, "backoff_s"),
        ({"silence_s": 0.0}, "silence_s"),
        ({"reply_partition": -1}, "reply_partition"),
        ({"most_pending": 0}, "most_pending"),
    ],
)
def test_b35_options_that_cannot_work_are_refused_by_name(wrong: dict[str, Any], named: str) -> None:
    CallOptions(**RIGHT)
    with pytest.raises(SettingsError, match=f"^{named}: "):
        CallOptions(**RIGHT | wrong)


def test_a_key_is_text_or_bytes_and_never_half_a_character() -> None:
    assert [as_bytes(key) for key in ("é", b"\xff", None)] == [b"\xc3\xa9", b"\xff", None]
    with pytest.raises(InvalidRequest, match="malformed"):
        as_bytes("\ud800")
