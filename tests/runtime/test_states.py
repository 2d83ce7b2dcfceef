"""Which state of a worker may follow which."""

from itertools import pairwise

import pytest

from pelton.states import MOVES, WARM, IllegalMoveError, WorkerState, check_move, may_follow


def path(*names: str) -> list[tuple[WorkerState, WorkerState]]:
    states = [WorkerState(name) for name in names]
    return list(pairwise(states))


@pytest.mark.parametrize(
    "life",
    [
        path("starting", "loading", "warming", "joining", "ready", "draining", "stopped"),
        path("ready", "rebalancing", "ready", "blocked", "ready", "joining", "ready"),
        path("joining", "blocked", "rebalancing", "blocked", "joining", "rebalancing"),
        path("loading", "restarting", "starting"),
        path("draining", "restarting", "stopped"),
    ],
)
def test_these_lives_are_legal(life: list[tuple[WorkerState, WorkerState]]) -> None:
    for old, new in life:
        check_move(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    path("starting", "ready", "loading")
    + path("draining", "ready")
    + path("stopped", "starting")
    + path("warming", "ready")
    + path("restarting", "ready", "starting"),
)
def test_these_moves_are_not(old: WorkerState, new: WorkerState) -> None:
    with pytest.raises(IllegalMoveError, match=f"from {old} to {new}"):
        check_move(old, new)


def test_every_state_is_in_the_table_and_within_reach() -> None:
    reached = {WorkerState.STARTING}
    while more := {new for state in reached for new in MOVES[state]} - reached:
        reached |= more
    assert set(MOVES) == set(WorkerState) == reached


@pytest.mark.parametrize("state", WorkerState)
def test_staying_is_legal_and_every_process_can_die(state: WorkerState) -> None:
    assert may_follow(state, state)
    assert may_follow(state, WorkerState.RESTARTING)


def test_a_warm_model_is_needed_to_score_or_to_wait_for_kafka() -> None:
    assert {state.value for state in WARM} == {"joining", "ready", "rebalancing", "blocked"}
