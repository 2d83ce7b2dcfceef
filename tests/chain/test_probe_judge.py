"""The judge of probes: it must find each kind of wrong answer, and nothing in a record without one."""

import math

import pytest

from tests.broker.prober import PATHS, Answer, Stall, late
from tests.chain.probe_judge import Event, Record, unexplained


def given(probe: str, *statuses: int, took_s: float = 0.01) -> list[Answer]:
    """Return what a worker answered second by second, from second 0."""
    return [Answer("w", probe, float(second), took_s, status, []) for second, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("probe", "statuses", "told_s", "wrong_at"),
    [
        ("live", (200, 200, 200), math.inf, []),
        ("live", (200, 503, 200), math.inf, [1]),
        ("live", (200, 0, 200), math.inf, [1]),
        ("live", (200, 200, 0), 1.5, []),
        ("live", (200, 0, 0), 1.5, [1]),
        ("live", (200, 200, 503), 1.5, [2]),
        ("startup", (503, 503, 200), math.inf, []),
        ("startup", (503, 200, 503), math.inf, [2]),
        ("startup", (503, 0, 200), math.inf, [1]),
        ("ready", (503, 200, 503, 200), math.inf, []),
        ("ready", (503, 200, 0, 200), math.inf, [2]),
        ("ready", (200, 200, 500), math.inf, [2]),
        ("ready", (200, 503, 0), 0.5, []),
    ],
)
def test_wrong_answers_are_found(probe: str, statuses: tuple[int, ...], told_s: float, wrong_at: list[int]) -> None:
    found = Record(given(probe, *statuses), told_s).wrong()
    assert [answer.asked_s for answer in found] == wrong_at


@pytest.mark.parametrize(
    ("statuses", "events", "unexplained_at"),
    [
        ((503, 503, 200, 200), [], []),
        ((200, 503, 200), [], [1]),
        ((200, 503, 200), [Event("hang", 0.5, "w", 1.5)], []),
        ((200, 503, 200), [Event("hang", 0.5, "other", 1.5)], [1]),
        ((200, 503, 200), [Event("broker", 0.5, over_s=1.5)], []),
        ((200, 503, 503, 200), [Event("broker", 0.5, over_s=1.5)], []),
        ((200, 503, 200), [Event("broker", 1.5)], [1]),
        ((200, 200, 503), [Event("broker", 0.5, over_s=1.5)], [2]),
        ((200, 503, 200, 503, 200), [Event("broker", 0.5, over_s=9)], [3]),
        ((200, 503, 200, 503, 200), [Event("broker", 0.5, over_s=2), Event("hang", 2.5, "w", 9)], []),
        ((200, 503, 0), [Event("leave", 0.5, "w")], []),
        ((200, 503, 200, 503), [Event("leave", 0.5, "w")], [3]),
    ],
)
def test_an_event_explains_one_time_of_not_being_ready_while_it_lasts(
    statuses: tuple[int, ...], events: list[Event], unexplained_at: list[int]
) -> None:
    dips = Record(given("ready", *statuses)).dips()
    assert [dip.asked_s for dip in unexplained(dips, events)] == unexplained_at


@pytest.mark.parametrize(
    ("stalls", "expected"),
    [
        ([], True),
        ([Stall(0.1, 0.3)], False),
        ([Stall(0.1, 0.15)], True),
        ([Stall(0.9, 1.5)], True),
        ([Stall(-1, 0.1), Stall(0.55, 0.8)], False),
    ],
)
def test_an_answer_is_late_by_the_time_in_which_the_prober_ran(stalls: list[Stall], *, expected: bool) -> None:
    (answer,) = given("live", 200, took_s=0.6)
    assert (late([answer], stalls) == [answer]) is expected


@pytest.mark.parametrize("probe", PATHS)
def test_seconds_without_a_question_are_found(probe: str) -> None:
    asked = given(probe, *[200] * 9)
    assert Record(asked).pauses([]) == []
    assert Record(asked[:3] + asked[6:]).pauses([]) == [asked[6]]
    assert Record(asked[:3] + asked[6:]).pauses([Stall(2.5, 5.5)]) == []
