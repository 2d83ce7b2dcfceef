"""The body of a request: its events, or why there are none, and by which of the inputs."""

import json
from typing import Any

import pytest

from pelton.schemas.answer import answer_of
from pelton.schemas.codec import EventCodec
from pelton.schemas.codes import Code
from pelton.schemas.input_schema import InputSchema
from pelton.schemas.rejection import Rejection
from pelton.schemas.request_codec import Question, RequestCodec

SCHEMA = InputSchema.from_json_schema(
    {
        "type": "object",
        "required": ["x"],
        "properties": {"x": {"type": "number"}, "n": {"type": "integer"}},
    },
    "event",
)
CODEC = RequestCodec(EventCodec(SCHEMA), ["risk", "risk@1"], max_inputs=5)
DEEP = 100_000


def asked(body: Any) -> Question:
    question = CODEC.decode(body if isinstance(body, bytes) else json.dumps(body).encode())
    assert isinstance(question, Question), question
    return question


def refused(body: Any) -> tuple[Code, str]:
    refusal = CODEC.decode(body if isinstance(body, bytes) or body is None else json.dumps(body).encode())
    assert isinstance(refusal, Rejection), refusal
    return refusal.code, refusal.reason


def test_one_event_is_a_single_question() -> None:
    question = asked({"inputs": {"x": 2.5}})
    assert ([event.x for event in question.events], question.single) == ([2.5], True)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_list_is_answered_by_a_list_even_of_one(n: int) -> None:
    question = asked({"inputs": [{"x": row} for row in range(n)]})
    assert ([event.x for event in question.events], question.single) == (list(range(n)), False)


@pytest.mark.parametrize(
    "body", [b' { "inputs" :\n [ {"x":1} ] } ', b'{"inputs":\t[{"x":1}]}', b'{"inputs": [{"x":1}]}']
)
def test_white_space_makes_no_difference(body: bytes) -> None:
    assert asked(body).single is False


def test_b12_whole_numbers_may_be_written_as_floats_in_every_input() -> None:
    assert [event.n for event in asked(b'{"inputs":[{"x":1,"n":12.0},{"x":1,"n":3}]}').events] == [12, 3]


def test_what_we_do_not_know_is_passed_over() -> None:
    assert asked({"inputs": {"x": 1}, "params": {"any": [1]}, "later": {"a": None}}).events[0].x == 1


@pytest.mark.parametrize("model", ["risk", "risk@1", None])
def test_the_model_may_be_named(model: str | None) -> None:
    assert len(asked({"inputs": {"x": 1}, "model": model}).events) == 1


@pytest.mark.parametrize("model", ["other", "risk@2", ""])
def test_a_model_that_is_not_served_is_named(model: str) -> None:
    assert refused({"inputs": {"x": 1}, "model": model}) == (Code.UNKNOWN_MODEL, f"{model!r} is not served here")


def test_the_name_of_a_model_cannot_fill_an_answer() -> None:
    code, reason = refused({"inputs": {"x": 1}, "model": "m" * 100_000})
    assert (code, len(reason)) == (Code.UNKNOWN_MODEL, 500)


def test_an_empty_list_asks_nothing() -> None:
    assert refused({"inputs": []}) == (Code.INVALID, "inputs: is an empty list")


def test_b24_too_many_inputs_are_too_large() -> None:
    assert refused({"inputs": [{"x": 1}] * 6}) == (Code.TOO_LARGE, "inputs: 6 events, and 5 are taken at most")


@pytest.mark.parametrize(
    ("inputs", "code", "where"),
    [
        ([{"x": 1}, {"x": "abc"}, {"y": 1}], Code.INVALID, "inputs[1]: x: "),
        ([{"x": 1}, {}, {"x": 2}], Code.INVALID, "inputs[1]: "),
        ([7], Code.MALFORMED, "inputs[0]: not an object but a number"),
        ([{"x": 1}, None], Code.MALFORMED, "inputs[1]: not an object but null"),
        ([[{"x": 1}]], Code.MALFORMED, "inputs[0]: not an object but an array"),
        ({"x": "abc"}, Code.INVALID, "inputs: x: "),
        (None, Code.MALFORMED, "inputs: not an object but null"),
        ("text", Code.MALFORMED, "inputs: not an object but a string"),
    ],
)
def test_b02_the_first_input_at_fault_is_named(inputs: Any, code: Code, where: str) -> None:
    found, reason = refused({"inputs": inputs})
    assert found is code
    assert reason.startswith(where)


@pytest.mark.parametrize(
    ("value", "code", "reason"),
    [
        (None, Code.MALFORMED, "the value is empty"),
        (b"", Code.MALFORMED, "the value is empty"),
        (b"not json", Code.MALFORMED, "not JSON"),
        (b'{"inputs":{"x":1}', Code.MALFORMED, "not JSON"),
        (b"[1,2]", Code.MALFORMED, "not an object but an array"),
        (b"null", Code.MALFORMED, "not an object but null"),
        (b"{}", Code.INVALID, "inputs"),
        (b'{"inputs":{"x":1},"model":5}', Code.INVALID, "model"),
        (b'{"inputs":{"x":1},"params":7}', Code.INVALID, "params"),
        (b'{"inputs":{"x":1}} trailing', Code.MALFORMED, "not JSON"),
        (b'\xef\xbb\xbf{"inputs":{"x":1}}', Code.MALFORMED, "not JSON"),
        (b'{"inputs":' + b"[" * DEEP + b"]" * DEEP + b"}", Code.MALFORMED, "nested too deeply"),
        (b'{"inputs":{"x":1,"of":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}}", Code.MALFORMED, "nested too deeply"),
    ],
)
def test_b03_what_is_no_request_is_told_so(value: bytes | None, code: Code, reason: str) -> None:
    found, why = refused(value)
    assert found is code
    assert reason in why


@pytest.mark.parametrize(
    "value",
    [
        b'{"inputs":{"x":1},"note":"\xc3\x28"}',
        b'{"inputs":{"x":1,"note":"\xff"}}',
        b'{"inputs":[{"x":1},{"x":1,"\xff":2}]}',
        '{"inputs":{"x":1}}'.encode("utf-16"),
    ],
)
def test_b33_bytes_that_are_not_utf8_are_malformed_wherever_they_stand(value: bytes) -> None:
    code, reason = refused(value)
    assert code is Code.MALFORMED
    assert "UTF-8" in reason


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e400"])
@pytest.mark.parametrize("body", [b'{"inputs":{"x":%b}}', b'{"inputs":[{"x":1},{"x":%b}]}'])
def test_b12_numbers_that_are_not_finite_are_named(body: bytes, number: bytes) -> None:
    code, reason = refused(body % number)
    assert code is Code.NOT_FINITE
    assert "x: " in reason
    assert reason.startswith("inputs")


def answer(outcome: Any, *, single: bool = True) -> tuple[Code, Any]:
    code, value = answer_of(outcome, "t-1", single=single)
    return code, json.loads(value, parse_constant=pytest.fail)


def test_a_score_is_answered_as_it_is_and_scores_as_a_list() -> None:
    assert answer([0.5]) == (Code.OK, {"code": "ok", "data": 0.5, "trace_id": "t-1"})
    assert answer([0.5], single=False) == (Code.OK, {"code": "ok", "data": [0.5], "trace_id": "t-1"})
    given = [{"p": [1, 2]}, "a", False]
    assert answer(given, single=False)[1]["data"] == given


@pytest.mark.parametrize("score", [float("nan"), float("inf"), [1.0, float("nan")], {"p": float("-inf")}, None])
def test_b12_a_score_that_is_not_finite_is_no_answer(score: Any) -> None:
    """The reason would show the inside of the model, so nobody is told more than which input it was."""
    expected = {"code": "model_error", "error": "the model failed on this input", "trace_id": "t-1"}
    assert answer([score]) == (Code.MODEL_ERROR, expected)
    expected["error"] = "inputs[1]: the model failed on this input"
    assert answer([0.5, score, score], single=False) == (Code.MODEL_ERROR, expected)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (Code.MODEL_ERROR, "the model failed on this input"),
        (Code.INTERNAL, "a fault of the server's own"),
        (Code.INVALID, "secret"),
        (Code.EXPIRED, "secret"),
    ],
)
def test_only_faults_of_the_callers_are_told_in_full(code: Code, told: str) -> None:
    found, value = answer(Rejection(code, "secret", "forward", "ValueError"))
    assert (found, value) == (code, {"code": code.value, "error": told, "trace_id": "t-1"})
