"""Every row of the table in docs/health.md, on a clock of the test's own."""

import random
from itertools import pairwise
from typing import Any

import pytest

from pelton.lag_rules import RULES, STOP_S, Scene
from pelton.states import LAG_MOVES, LagState

from .lag_scene import WINDOW_S, Followed

FULL = WINDOW_S + 1
BEHIND = {"reached": 100, "end": 1100}
AT_WORK = {"at_work": True, "in_hand": 5}


def followed(*phases: tuple[int, int, int], **how: Any) -> Followed:
    """Return a partition 1000 records behind after phases of (seconds, done, written a second)."""
    one = Followed(**BEHIND)
    for phase in phases:
        one.seconds(*phase, **how)
    return one


CASES: list[tuple[str, Followed, dict[str, Any], str, str]] = [
    # Without a fresh end nothing is said against anybody, whatever was seen before and whatever else is true.
    ("no-end", Followed(), {}, "unknown", "nobody has told where the partition ends"),
    ("no-end", followed((FULL, 0, 0)).seconds(11, told=False), {}, "unknown", "nobody has told"),
    ("no-end", followed((FULL, 0, 0)).seconds(11, told=False), {"silent_s": 99.0}, "unknown", "nobody has told"),
    ("stands", followed((FULL, 0, 0)).seconds(10, told=False), {}, "stall", "none of 1000 records"),
    # An idle partition, and one that was read to its end, are fine whoever polls them.
    ("empty", Followed(100, 100).seconds(FULL), {}, "ok", "nothing is left to read"),
    ("empty", Followed(100, 100).seconds(FULL), {"silent_s": 99.0}, "ok", "nothing is left to read"),
    ("empty", followed((20, 50, 0), (FULL, 0, 0)), {}, "ok", "nothing is left to read"),
    # While partitions move nobody is blamed, and afterwards the poll loop is looked at again.
    ("rebalance", followed((FULL, 0, 0)), {"rebalancing": True, "silent_s": 99.0}, "ok", "partitions are moving"),
    ("silent", followed((FULL, 9, 0)), {"silent_s": 12.0}, "stop", "silent for 12 s, with 451 records left"),
    ("silent", followed((3, 0, 0)), {"silent_s": STOP_S + 0.1, **AT_WORK}, "stop", "with 1000 records left"),
    ("shrinks", followed((FULL, 9, 0)), {"silent_s": STOP_S}, "ok", "records are finished, 451 are left"),
    # Set back, until it stands where it stood, or until that is a window ago.
    ("set-back", followed((5, 9, 0), (1, -30, 0)), {}, "rewind", "stands 30 offsets before where it stood"),
    ("set-back", followed((5, 9, 0), (1, -30, 0), (3, 9, 0)), {}, "rewind", "stands 3 offsets before"),
    ("set-back", Followed(1100, 1100).seconds(5).seconds(1, -30), {}, "rewind", "stands 30 offsets before"),
    ("young", followed((5, 9, 0), (1, -30, 0), (4, 9, 0)), {}, "ok", "it has been followed for 9 s only"),
    ("stands", followed((5, 9, 0), (1, -30, 0), (FULL, 0, 0)), {}, "stall", "none of 985 records"),
    # Whoever had nothing left to do within the window has time for what came since.
    ("caught-up", followed((20, 50, 0), (1, 0, 500), (WINDOW_S - 2, 0, 0)), {}, "ok", "it has caught up of late"),
    ("caught-up", Followed(9, 9).seconds(1).seconds(WINDOW_S - 1, 0, 7), {}, "ok", "it has caught up of late"),
    ("stands", followed((20, 50, 0), (1, 0, 500), (FULL, 0, 0)), {}, "stall", "none of 500 records"),
    # A new assignment, a fresh replica before a big backlog, a broker that is back: a window of grace.
    ("young", followed((1, 0, 0)), {}, "ok", "it has been followed for 0 s only"),
    ("young", followed((WINDOW_S, 0, 9)), {}, "ok", "it has been followed for 59 s only"),
    ("young", followed((FULL, 0, 0)).seconds(11, told=False).seconds(WINDOW_S), {}, "ok", "followed for 59 s only"),
    ("stands", followed((FULL, 0, 0)).seconds(11, told=False).seconds(FULL), {}, "stall", "none of 1000 records"),
    # A long batch, in the model or between two of them: whoever has records in hand waits for it.
    ("waits", followed((FULL, 0, 3)), AT_WORK, "ok", "1183 records wait for the batch in the model"),
    ("waits", followed((FULL, 0, 3), held_back=True), {"at_work": True}, "ok", "records wait for the batch"),
    # One of several partitions that brings nothing is no matter of the model's.
    ("stands", followed((FULL, 0, 3)), {"at_work": True}, "stall", "none of 1183 records was finished in 60 s"),
    ("stands", followed((FULL, 0, 3)), {"in_hand": 5}, "stall", "none of 1183 records"),
    ("stands", followed((FULL, 0, 3), held_back=True), {"in_hand": 5}, "stall", "none of 1183 records"),
    ("stands", followed((FULL, 0, 0)), {}, "stall", "none of 1000 records was finished in 60 s"),
    # Records are finished: too few of them, or enough.
    ("grows", followed((FULL, 5, 9)), {}, "warn", "the lag of 1244 records never shrank in 60 s"),
    ("grows", followed((FULL, 5, 5)), AT_WORK, "warn", "the lag of 1000 records never shrank"),
    ("grows", followed((1, 0, 0), (WINDOW_S, 0, 3), (1, 1, 3)), {}, "warn", "never shrank"),
    ("shrinks", followed((FULL, 9, 5)), {}, "ok", "records are finished, 756 are left"),
    ("shrinks", followed((FULL - 1, 5, 9), (1, 10, 9)), {}, "ok", "records are finished"),
    ("shrinks", followed((FULL, 5, 9), (1, 10, 9), (WINDOW_S - 1, 5, 9)), {}, "ok", "records are finished"),
    ("grows", followed((FULL, 5, 9), (1, 10, 9), (FULL, 5, 9)), {}, "warn", "never shrank"),
]


@pytest.mark.parametrize(("rule", "one", "scene", "verdict", "reason"), CASES)
def test_b05_b15_b16_what_is_to_be_said_of_a_lag(
    rule: str, one: Followed, scene: dict[str, Any], verdict: str, reason: str
) -> None:
    found, why = one.verdict(**scene)
    assert (found.value, reason in why) == (verdict, True), why
    first = next(each for each in RULES if each.holds(Scene(one.window, one.now_s, **scene)))
    assert first.name == rule


def test_each_row_of_the_table_has_its_cases_and_each_verdict_a_row() -> None:
    assert {rule for rule, *_ in CASES} == {rule.name for rule in RULES}
    assert {rule.state for rule in RULES} == set(LagState)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_only_legal_moves_follow_each_other(seed: int) -> None:
    dice, one = random.Random(seed), Followed(500, 800)
    seen = [LagState.UNKNOWN]
    while len(seen) < 400:
        done, written = dice.choice([0, 0, 0, 1, 5, -40]), dice.choice([0, 0, 2, 5])
        told, silent_s = dice.random() < 0.9, dice.choice([0.0] * 9 + [30.0])
        for _ in range(dice.choice([1, 5, 30, 70])):
            one.second(min(done, one.end - one.reached), written, told=told)
            seen.append(one.verdict(silent_s=silent_s)[0])
    wrong = {(old, new) for old, new in pairwise(seen) if old is not new and new not in LAG_MOVES[old]}
    assert wrong == set()


def test_a_lag_gets_from_everywhere_to_everywhere() -> None:
    reached, more = {LagState.UNKNOWN}, {LagState.UNKNOWN}
    while more := {new for state in more for new in LAG_MOVES[state]} - reached:
        reached |= more
    assert reached == set(LAG_MOVES) == set(LagState)
    assert LAG_MOVES[LagState.UNKNOWN] == {LagState.OK, LagState.STOP}


def test_the_worse_the_higher() -> None:
    order = ["ok", "unknown", "warn", "rewind", "stall", "stop"]
    assert [state.value for state in sorted(LagState, key=lambda state: state.severity)] == order
