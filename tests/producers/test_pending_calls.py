"""The map of calls is empty again whatever happens to them, and nothing is due early, twice or never."""

import random
import threading

from pelton.producers.pending_calls import Call, CallIds, PendingCalls, Step


def make_call(number: int) -> Call:
    return Call(number.to_bytes(16), b"", b"", [], 0.0, 0.0, None)


class Clock:
    now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


def test_a_call_is_due_once_within_a_hundredth_of_its_time() -> None:
    clock = Clock()
    pending = PendingCalls(clock)
    moments = [50.0, 50.001, 50.5, 51.237, 49.0, 63.0]
    calls = [make_call(number) for number in range(len(moments))]
    for call, moment in zip(calls, moments, strict=True):
        pending.add(call, moment, Step.EXPIRE)
    seen: dict[bytes, float] = {}
    while clock.now_s < 64:
        for call in pending.due():
            assert call.id not in seen
            seen[call.id] = clock.now_s
        clock.now_s += 0.005
    assert len(seen) == len(moments)
    late = [seen[call.id] - moment for call, moment in zip(calls, moments, strict=True) if moment > 50]
    assert all(0 <= each <= 0.0251 for each in late)


def test_what_was_put_off_is_not_due_before() -> None:
    clock = Clock()
    pending = PendingCalls(clock)
    call = make_call(1)
    pending.add(call, 51.0, Step.SILENCE)
    assert pending.put_off(call, 55.0, Step.REPEAT)
    clock.now_s = 54.9
    assert list(pending.due()) == []
    clock.now_s = 1e6
    assert list(pending.due()) == [call]
    assert call.step is Step.REPEAT
    assert pending.pop(call)
    assert not pending.pop(call)
    assert not pending.put_off(call, 60.0, Step.EXPIRE)


def test_nothing_is_left_after_any_mix() -> None:
    clock = Clock()
    pending = PendingCalls(clock)
    dice = random.Random(7)
    calls = [make_call(number) for number in range(3000)]
    for call in calls:
        clock.now_s += dice.random() / 50
        pending.add(call, clock.now_s + dice.random() * 5, dice.choice(list(Step)))
        other = calls[dice.randrange(len(calls))]
        if dice.random() < 0.5:
            pending.put_off(other, clock.now_s + dice.random(), Step.REPEAT)
        if dice.random() < 0.3:
            pending.pop(other)
        for due in pending.due():
            if dice.random() < 0.5:
                pending.pop(due)
            else:
                pending.put_off(due, clock.now_s + dice.random(), Step.EXPIRE)
    for call in calls:
        pending.pop(call)
    assert (len(pending), pending._wheel) == (0, {})


def test_each_call_is_ended_by_one_thread_only() -> None:
    pending = PendingCalls(Clock())
    calls = [make_call(number) for number in range(2000)]
    for call in calls:
        pending.add(call, 51.0, Step.EXPIRE)
    taken: list[int] = []

    def take() -> None:
        taken.append(sum(pending.pop(call) for call in calls))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sum(taken) == 2000


def test_ids_are_known_again() -> None:
    mine, theirs = CallIds(), CallIds()
    assert mine.owns(mine.new())
    assert not mine.owns(theirs.new())
