"""The judge finds what it is there to find, one test for each way to be wrong."""

import json
from typing import Any

import pytest

from tests.chain.storm_judge import Verdict, judge
from tests.chain.stream import BROKEN_EVERY, N_VECTORS, expected_scores, place, value

N_SENT = 1_010
EXPECTED = expected_scores().tolist()


class Told:
    """A message as a reader sees it."""

    def __init__(self, key: bytes, value: bytes, headers: Any = None) -> None:
        self.key, self.value, self.headers = (lambda: key), (lambda: value), (lambda: headers)


def score(i: int, score: float | None = None, key: bytes | None = None) -> Told:
    partition, offset = place(i)
    wire = {
        "event_id": f"e{i}",
        "source": {"topic": "t", "partition": partition, "offset": offset},
        "score": EXPECTED[i % N_VECTORS] if score is None else score,
    }
    return Told(key or f"e{i}".encode(), json.dumps(wire).encode())


def dead(i: int, body: bytes | None = None) -> Told:
    partition, offset = place(i)
    headers = [("__connect.errors.partition", b"%d" % partition), ("__connect.errors.offset", b"%d" % offset)]
    return Told(b"key-0", body or value(i).encode(), headers)


def good() -> tuple[list[Any], list[Any]]:
    return [score(i) for i in range(N_SENT) if i % BROKEN_EVERY], [dead(0), dead(1_000)]


def verdict_with(*scores: Told, dead_letters: tuple[Told, ...] = (), without: int | None = None) -> Verdict:
    scored, buried = good()
    if without is not None:
        del scored[without - 1]
    return judge([*scored, *scores], [*buried, *dead_letters], N_SENT)


def test_what_is_right_is_found_right() -> None:
    verdict = verdict_with()
    assert verdict == Verdict(N_SENT)
    assert verdict.exactly_once


def test_what_is_missing_is_found() -> None:
    verdict = verdict_with(without=7)
    assert verdict.missing == [7]
    assert not verdict.at_least_once


@pytest.mark.parametrize(("again", "unlike"), [(None, []), (EXPECTED[7] + 5e-6, [7])])
def test_what_is_double_is_found_and_whether_it_is_the_same(again: float | None, unlike: list[int]) -> None:
    verdict = verdict_with(score(7, again))
    assert verdict.twice == [7]
    assert verdict.unlike == unlike
    assert not verdict.exactly_once
    assert verdict.at_least_once is not bool(unlike)


def test_an_event_with_a_score_and_a_dead_letter_is_found() -> None:
    verdict = verdict_with(dead_letters=(dead(7),))
    assert (verdict.twice, verdict.wrong, verdict.exactly_once) == ([7], [7], False)


def test_one_missing_and_another_double_do_not_cancel_out() -> None:
    verdict = verdict_with(score(8), without=7)
    assert (verdict.missing, verdict.twice) == ([7], [8])


@pytest.mark.parametrize(
    "wrong", [score(7, EXPECTED[8]), score(7, float(EXPECTED[7]) + 2e-5), score(7, key=b"e8"), dead(7)]
)
def test_a_wrong_outcome_is_found(wrong: Told) -> None:
    verdict = verdict_with(
        *(() if wrong.headers() else (wrong,)), dead_letters=(wrong,) * bool(wrong.headers()), without=7
    )
    assert verdict.wrong == [7]
    assert not verdict.at_least_once


def test_a_broken_event_that_was_scored_is_found() -> None:
    scored, buried = good()
    assert judge([*scored, score(1_000)], buried[:1], N_SENT).wrong == [1_000]


def test_a_dead_letter_with_another_body_is_found() -> None:
    scored, buried = good()
    assert judge(scored, [buried[0], dead(1_000, b"{")], N_SENT).wrong == [1_000]


def test_a_position_that_was_never_sent_is_found() -> None:
    assert verdict_with(score(N_SENT)).foreign == [place(N_SENT)]
