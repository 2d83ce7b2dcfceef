"""The three verdicts, over snapshots at chosen times."""

from dataclasses import replace

import pytest

from pelton.health import REBALANCE_GRACE_S, WorkerView, hang, live, ready, startup
from pelton.states import SupervisorState, WorkerState

NOW_S = 10_000.0
STALL_S = 300.0
STABLE_S = 30.0
SERVING = WorkerView(
    0,
    WorkerState.READY,
    since_s=NOW_S - 100,
    was_warm=True,
    was_ready=True,
    ready_since_s=NOW_S - 100,
    poll_beat_s=NOW_S - 0.1,
    batch_finished_s=NOW_S - 0.1,
)
FRESH = WorkerView(1, WorkerState.STARTING, since_s=NOW_S)


def in_state(name: str, **changes: object) -> WorkerView:
    return replace(SERVING, index=1, state=WorkerState(name), **changes)  # type: ignore[arg-type]


def is_ready(*workers: WorkerView, supervisor: SupervisorState = SupervisorState.RUNNING) -> tuple[str, ...]:
    return ready(supervisor, workers, NOW_S, STABLE_S).reasons


@pytest.mark.parametrize("state", ["starting", "loading", "warming"])
def test_not_started_until_each_model_has_been_warm_once(state: str) -> None:
    cold = replace(FRESH, state=WorkerState(state), reason="weights of 3 GB")
    assert startup([SERVING, cold]).reasons == (f"worker 1 is {state}: weights of 3 GB",)
    assert startup([SERVING, in_state(state)]).ok, "a restart does not undo a start"


def test_b40_a_broker_that_is_away_leaves_it_started_and_live_and_not_ready() -> None:
    waiting = replace(FRESH, state=WorkerState.JOINING, was_warm=True, reason="no broker answers at b:9092")
    assert startup([waiting]).ok
    assert live([waiting]).ok
    assert hang(waiting, NOW_S + 3600, STALL_S) == ""
    assert is_ready(waiting) == ("worker 1 is joining: no broker answers at b:9092",)


def test_b40_a_long_load_is_neither_dead_nor_hanging() -> None:
    loading = replace(FRESH, state=WorkerState.LOADING, since_s=NOW_S - 600)
    assert live([loading]).ok
    assert hang(loading, NOW_S, STALL_S) == ""


@pytest.mark.parametrize(("after_s", "expected"), [(1.0, True), (REBALANCE_GRACE_S + 1, False)])
def test_b17_a_rebalance_leaves_it_ready_for_a_grace_time_and_live_for_good(after_s: float, expected: bool) -> None:
    moving = in_state("rebalancing", since_s=NOW_S - after_s)
    assert (is_ready(moving) == ()) is expected
    assert live([moving]).ok
    assert hang(moving, NOW_S, STALL_S) == ""


def test_b17_a_rebalance_shows_in_the_answer_of_the_probe() -> None:
    moving = in_state("rebalancing", since_s=NOW_S - 1, reason="later: unknown topic")
    told = ready(SupervisorState.RUNNING, [SERVING, moving], NOW_S, STABLE_S).describe()
    assert told == {"status": "ok", "reasons": [], "notes": ["worker 1 is rebalancing: later: unknown topic"]}
    moving = replace(moving, since_s=NOW_S - REBALANCE_GRACE_S - 1)
    told = ready(SupervisorState.RUNNING, [SERVING, moving], NOW_S, STABLE_S).describe()
    assert told == {"status": "failing", "reasons": ["worker 1 is rebalancing: later: unknown topic"]}


@pytest.mark.parametrize("state", ["restarting", "starting", "loading", "warming", "joining"])
def test_one_worker_may_come_back_while_another_serves(state: str) -> None:
    back = in_state(state, deaths=1, ready_since_s=0.0)
    assert is_ready(SERVING, back) == ()
    assert is_ready(back) == (f"worker 1 is {state}",)
    assert is_ready(SERVING, replace(back, was_ready=False)) == (f"worker 1 is {state}",)


@pytest.mark.parametrize("state", ["blocked", "draining", "stopped"])
def test_a_worker_that_cannot_or_will_not_serve_makes_the_pod_unready(state: str) -> None:
    assert is_ready(SERVING, in_state(state, reason="the sink refuses")) == (f"worker 1 is {state}: the sink refuses",)


def test_a_crash_loop_is_not_ready_and_does_not_flap() -> None:
    crashing = in_state("restarting", deaths=3, reason="ended with exit code 3")
    assert is_ready(SERVING, crashing) == (
        "worker 1 is in a crash loop (3 deaths in a row), restarting: ended with exit code 3",
    )
    up_again = in_state("ready", deaths=3, ready_since_s=NOW_S - STABLE_S + 1)
    assert is_ready(up_again) != ()
    assert is_ready(replace(up_again, ready_since_s=NOW_S - STABLE_S)) == ()
    assert live([crashing]).ok, "a new pod would crash as well"


def test_b10_draining_and_having_no_workers_are_not_ready() -> None:
    assert is_ready(SERVING, supervisor=SupervisorState.DRAINING) == ("the supervisor is draining",)
    assert is_ready() == ("no worker was started yet",)
    assert is_ready(SERVING) == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"batch_started_s": NOW_S - 299}, ""),
        ({"batch_started_s": NOW_S - 301}, "the batch in the model has not ended for 301 s"),
        ({"poll_beat_s": NOW_S - 299}, ""),
        ({"poll_beat_s": NOW_S - 301}, "the poll loop has not come round for 301 s"),
        ({"oldest_unfinished_s": NOW_S - 400, "batch_finished_s": NOW_S - 299}, ""),
        (
            {"oldest_unfinished_s": NOW_S - 400, "batch_finished_s": NOW_S - 301},
            "records have waited for 400 s and no batch was finished",
        ),
        ({"oldest_unfinished_s": NOW_S - 10, "batch_finished_s": NOW_S - 3000}, ""),
        ({"oldest_unfinished_s": NOW_S - 900, "batch_finished_s": NOW_S - 301, "in_flight": 1}, ""),
        ({"oldest_unfinished_s": NOW_S - 900, "batch_finished_s": NOW_S - 301, "batch_started_s": NOW_S - 9}, ""),
        ({"batch_finished_s": NOW_S - 3600}, ""),
    ],
)
def test_b05_what_is_a_hang_and_what_only_takes_long(changes: dict[str, float], reason: str) -> None:
    assert hang(in_state("ready", **changes), NOW_S, STALL_S) == reason


def test_b05_scores_that_cannot_leave_are_no_hang_but_a_dead_poll_loop_is_one_always() -> None:
    blocked = in_state("blocked", batch_started_s=NOW_S - 900, oldest_unfinished_s=NOW_S - 900)
    assert hang(blocked, NOW_S, STALL_S) == ""
    assert hang(replace(blocked, poll_beat_s=NOW_S - 900), NOW_S, STALL_S) != ""


def test_b05_not_live_only_when_replacing_did_not_help() -> None:
    hung = in_state("ready", hangs=1, last_hang="the poll loop has not come round for 301 s")
    assert live([SERVING, hung]).ok
    assert live([SERVING, replace(hung, hangs=2)]).reasons == (
        "worker 1: the poll loop has not come round for 301 s, and replacing it did not help",
    )
    assert live([replace(hung, unkillable=True)]).reasons == (
        "worker 1: the poll loop has not come round for 301 s, and it cannot be killed",
    )


def test_b05_a_frozen_worker_is_not_ready_long_before_it_counts_as_hanging() -> None:
    frozen = in_state("ready", poll_beat_s=NOW_S - 12)
    assert hang(frozen, NOW_S, STALL_S) == ""
    assert is_ready(frozen) == ("worker 1 is ready, and its poll loop has been silent for 12 s",)
    assert is_ready(in_state("ready", poll_beat_s=NOW_S - 9)) == ()


def test_b05_a_lag_that_tells_of_a_stall_makes_a_worker_not_ready_and_leaves_it_live() -> None:
    stalled = in_state("ready", lag_reason="stall: in/3: none of 9 records was finished in 60 s")
    told = "worker 1 is ready, and its lag tells of a stall: in/3: none of 9 records was finished in 60 s"
    assert is_ready(SERVING, stalled) == (told,)
    assert is_ready(replace(stalled, state=WorkerState.REBALANCING, since_s=NOW_S - 1)) != ()
    assert live([stalled]).ok
    assert startup([stalled]).ok
    assert hang(stalled, NOW_S, STALL_S) == ""
