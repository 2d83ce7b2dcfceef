"""How often one caller may ask: so many times in any second, whatever others do."""

import time

import pytest

from pelton.consumers.calls import Call
from pelton.consumers.quota import Quota
from pelton.schemas.request import RequestHead


def call(topic: str | None = "answers", partition: int | None = 0) -> Call:
    return Call(RequestHead(b"id", topic, partition), ("ask", 0), 1, 0, 0.0, 0.0)


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


def test_in_any_second_no_more_than_the_limit_is_let_in(clock: Clock) -> None:
    quota = Quota(3)
    admitted: list[float] = []
    for _ in range(400):
        if quota.admits(call()):
            admitted.append(clock.now_s)
        clock.now_s += 0.0625  # sixteen requests a second, for 25 seconds
    assert all(later - earlier >= 1 for earlier, later in zip(admitted, admitted[3:], strict=False))
    # What came exactly a second ago counts too, so each three take 17 of the 400 turns.
    assert len(admitted) == 3 * 24


def test_callers_do_not_take_each_others_share(clock: Clock) -> None:
    quota = Quota(1)
    callers = [call(), call(partition=1), call("others"), call(partition=None), call(None, None)]
    assert [quota.admits(each) for each in callers] == [True] * 5
    assert [quota.admits(each) for each in callers] == [False] * 5
