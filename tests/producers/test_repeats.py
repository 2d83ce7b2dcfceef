"""When a request is sent again, and when it is not: by code, by silence, by budget, by deadline."""

import pytest

from pelton.deadline import Deadline
from pelton.errors import CallExpired, Overloaded, SettingsError
from pelton.producers.call_options import CallOptions
from pelton.producers.latencies import Latencies
from pelton.producers.repeats import Repeats
from pelton.producers.retry_budget import RetryBudget
from pelton.schemas.codes import CODES, Code

from .caller import Caller

NO_PAUSE = {"backoff_s": 0.001}


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_b44_what_can_pass_is_asked_again_under_the_same_id(code: Code) -> None:
    caller = Caller(**NO_PAUSE)
    call = caller.call({"x": 3})
    caller.refuse(call, code)
    caller.pass_time(0.1)
    sent = caller.requests(call)
    if CODES[code].retriable and code is not Code.EXPIRED:
        assert len(sent) == 2
        assert {(each.key(), each.value(), str(each.headers())) for each in sent} == {
            (call.id, b'{"inputs":{"x":3}}', str(sent[0].headers()))
        }
        caller.score(call, 6)
        assert caller.data(call) == 6
    else:
        assert len(sent) == 1
        assert call.id in caller.ended


def test_two_answers_of_one_trouble_are_one_trouble() -> None:
    caller = Caller(backoff_s=0.1)
    call = caller.call()
    for _ in range(20):  # more than there are permits
        caller.refuse(call, "overloaded")
    caller.pass_time(0.2)
    assert len(caller.requests(call)) == 2
    assert call.repeats == 1
    caller.refuse(call, "invalid")
    assert call.id in caller.ended


def test_three_repeats_at_most_then_the_error_itself() -> None:
    caller = Caller(**NO_PAUSE)
    call = caller.call()
    for expected in (2, 3, 4):
        caller.refuse(call, "overloaded")
        caller.pass_time(0.1)
        assert len(caller.requests(call)) == expected
    caller.refuse(call, "overloaded")
    assert isinstance(caller.error(call), Overloaded)
    assert caller.board.counts().repeated == 3


def test_no_more_than_three_can_be_asked_for() -> None:
    with pytest.raises(SettingsError, match="repeats"):
        Caller(repeats=4)


def test_pauses_double_and_vary() -> None:
    pauses = []
    for _ in range(3):
        caller = Caller(backoff_s=1.0, deadline_s=60.0, silence_s=50.0)
        call = caller.call()
        for repeat in range(3):
            caller.refuse(call, "not_ready")
            began_s = caller.now_s
            while len(caller.requests(call)) == repeat + 1:
                caller.pass_time(0.05, 0.05)
            pauses.append((repeat, caller.now_s - began_s))
    assert all(0.1 * 2**repeat - 0.01 <= pause <= 2**repeat + 0.15 for repeat, pause in pauses)
    assert len({round(pause, 2) for _, pause in pauses}) > 3


def test_the_longest_pause_is_twice_as_long_each_time() -> None:
    options = CallOptions(kafka="none", requests="asked", replies="answered", backoff_s=1.0)
    repeats, call = Repeats(options, Latencies(), lambda _, most: most), Caller().call(deadline_s=60.0)
    pauses = []
    for call.repeats in range(3):
        pauses.append(
            (repeats.after_failure(call, Overloaded("", code=Code.OVERLOADED), call.began_s) or 0) - call.began_s
        )
    assert pauses == pytest.approx([1.0, 2.0, 4.0])


def test_a_repeat_that_could_only_be_too_late_is_not_sent() -> None:
    caller = Caller(backoff_s=100.0)
    call = caller.call(deadline_s=0.3)
    caller.refuse(call, "overloaded")
    assert isinstance(caller.error(call), Overloaded)
    assert len(caller.requests(call)) == 1


def test_silence_is_answered_by_a_repeat_until_the_deadline() -> None:
    caller = Caller()
    call = caller.call(deadline_s=8.0)
    caller.pass_time(1.7)
    assert len(caller.requests(call)) == 1
    caller.pass_time(0.6)
    assert len(caller.requests(call)) == 2
    caller.pass_time(6.0)
    assert len(caller.requests(call)) == 4
    assert isinstance(caller.error(call), CallExpired)
    caller.score(call, 1)
    assert caller.board.counts().late == 1


def test_the_second_answer_to_a_repeated_request_is_late_and_quiet() -> None:
    caller = Caller(silence_s=0.1)
    call = caller.call()
    caller.pass_time(0.15)
    caller.score(call, 1)
    caller.score(call, 1)
    assert (caller.told, caller.board.counts().late) == ([call.id], 1)


def test_repeats_are_a_tenth_of_the_calls_however_many_fail() -> None:
    caller = Caller(**NO_PAUSE)
    for _ in range(19):  # fewer than a breaker needs
        caller.refuse(caller.call(), "overloaded")
        caller.pass_time(0.05)
    # At once 10, and then one for each ten calls: 10 + 19/10, never more than 11 whole ones.
    assert caller.board.counts().repeated == 11


def test_the_budget_fills_by_calls_up_to_its_reserve() -> None:
    budget = RetryBudget(share=0.25, reserve=2.0)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    for _ in range(3):
        budget.earn()
    assert not budget.spend()
    budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]
    for _ in range(100):
        budget.earn()
    assert [budget.spend() for _ in range(3)] == [True, True, False]


def hedging(answers: int, latency_s: float = 0.1, **options: object) -> Caller:
    caller = Caller(hedge=True, **options)
    for _ in range(answers):
        call = caller.call()
        caller.pass_time(latency_s)
        caller.score(call, 0)
    return caller


def test_a_hedge_goes_to_another_partition_after_what_19_of_20_answers_took() -> None:
    caller = hedging(60)
    call = caller.call(7)
    caller.pass_time(0.08)
    assert len(caller.requests(call)) == 1
    caller.pass_time(0.06)
    first, second = caller.requests(call)
    assert first.partition() != second.partition()
    assert dict(first.headers()) == dict(second.headers())
    caller.pass_time(1.0)
    assert len(caller.requests(call)) == 2
    caller.board.cancel(call)
    caller.turn()
    cancels = {cancel.partition() for cancel in caller.requests(call, cancels=True)}
    assert cancels == {first.partition(), second.partition()}


def test_nothing_is_hedged_unasked_nor_before_latencies_are_known_nor_with_a_key() -> None:
    for caller, key in ((hedging(20), None), (hedging(60), b"k")):
        call = caller.call(key=key)
        caller.pass_time(1.0)
        assert len(caller.requests(call)) == 1
    plain = Caller()
    for _ in range(60):
        plain.score(plain.call(), 0)
    call = plain.call()
    plain.pass_time(1.0)
    assert len(plain.requests(call)) == 1


def test_hedges_come_out_of_the_same_budget() -> None:
    caller = hedging(60)
    calls = [caller.call(deadline_s=0.5) for _ in range(15)]
    caller.pass_time(0.3)
    assert caller.board.counts().hedged == 10
    assert sum(len(caller.requests(call)) for call in calls) == 25


def test_partitions_that_are_added_are_asked_too_within_a_minute() -> None:
    caller = Caller(requests=2, hedge=True)
    caller.kafka.topics["requests"].extend([[], []])
    assert {caller.call().partition for _ in range(8)} == {0, 1}
    caller.pass_time(61.0, step_s=1.0)
    deadline = Deadline.after(20)
    while {caller.call().partition for _ in range(8)} != {0, 1, 2, 3}:
        assert not deadline.expired


def test_one_partition_leaves_nowhere_to_hedge_to() -> None:
    with pytest.raises(SettingsError, match="hedge"):
        Caller(requests=1, hedge=True)


def test_the_95th_of_a_hundred() -> None:
    latencies = Latencies()
    for hundredth in range(49):
        latencies.note(hundredth / 100)
    assert latencies.p95_s is None
    latencies.note(0.49)
    assert latencies.p95_s == pytest.approx(0.46)  # of 0.00 … 0.49, 47 are as small or smaller
    for hundredth in range(50, 114):
        latencies.note(hundredth / 100)
    assert latencies.p95_s == pytest.approx(0.95 * 1.13, abs=0.01)
