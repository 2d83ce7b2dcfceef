"""Calls stop while most of them fail, and are tried again after half a minute."""

import pytest

from pelton.errors import CallExpired, CircuitOpen

from .caller import Caller


def end(caller: Caller, n: int, code: str) -> None:
    for _ in range(n):
        call = caller.call()
        caller.refuse(call, code) if code != "ok" else caller.score(call, 1)
        caller.pass_time(0.01)


def is_open(caller: Caller) -> bool:
    try:
        caller.board.cancel(caller.call())
    except CircuitOpen:
        return True
    return False


def test_it_opens_when_more_than_half_fail() -> None:
    caller = Caller(repeats=0)
    end(caller, 20, "ok")
    end(caller, 20, "internal")
    assert not is_open(caller)  # just half
    end(caller, 1, "internal")
    with pytest.raises(CircuitOpen) as refused:
        caller.call()
    assert (refused.value.code, refused.value.retriable) == ("not_ready", True)
    assert 29 < refused.value.retry_after_s <= 30
    assert caller.board.counts().pending == 0


def test_a_few_failures_are_no_proof() -> None:
    caller = Caller(repeats=0)
    end(caller, 19, "internal")
    assert not is_open(caller)


@pytest.mark.parametrize("code", ["invalid", "not_finite", "unknown_model", "forbidden", "model_error", "rate_limited"])
def test_the_callers_own_faults_open_nothing(code: str) -> None:
    caller = Caller(repeats=0)
    end(caller, 50, code)
    assert not is_open(caller)


def opened() -> Caller:
    caller = Caller(repeats=0)
    end(caller, 20, "overloaded")
    assert is_open(caller)
    return caller


def test_after_half_a_minute_one_call_is_tried_and_closes_it() -> None:
    caller = opened()
    caller.pass_time(29.9, 0.1)
    assert is_open(caller)
    caller.pass_time(0.2)
    trial = caller.call()
    assert is_open(caller)  # until the trial has ended
    caller.score(trial, 1)
    end(caller, 5, "ok")
    assert not is_open(caller)


def test_a_trial_that_fails_opens_it_again() -> None:
    caller = opened()
    caller.pass_time(30.1, 0.1)
    caller.refuse(caller.call(), "internal")
    assert is_open(caller)
    caller.pass_time(30.1, 0.1)
    assert not is_open(caller)


def test_a_trial_taken_back_leaves_its_place_to_another() -> None:
    caller = opened()
    caller.pass_time(30.1, 0.1)
    caller.board.cancel(caller.call())
    caller.score(caller.call(), 1)
    assert not is_open(caller)


def test_b38_two_hundred_impatient_calls_leave_fifty_patient_ones_alone() -> None:
    caller = Caller(repeats=0)
    hasty = [caller.call(deadline_s=0.01) for _ in range(200)]
    caller.pass_time(0.1)
    assert all(isinstance(caller.error(call), CallExpired) for call in hasty)
    patient = [caller.call() for _ in range(50)]
    for number, call in enumerate(patient):
        caller.score(call, number)
    assert [caller.data(call) for call in patient] == list(range(50))
    assert caller.board.counts().pending == 0


def test_silence_opens_it() -> None:
    caller = Caller(repeats=0)
    for _ in range(20):
        caller.call(deadline_s=5.0)
    caller.pass_time(5.1, 0.1)
    assert is_open(caller)
