"""Requests that come again: one computation, one answer to the byte, for as long as it is remembered."""

from collections.abc import Callable
from typing import Any

import pytest

from pelton.consumers.calls import Call
from pelton.consumers.repeats import Repeats, Seen
from pelton.schemas.request import RequestHead

WINDOW_S = 300.0


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("pelton.consumers.repeats.time", found)
    return found


def call(
    correlation_id: bytes | None = b"id",
    topic: str | None = "r",
    to: int | None = 0,
    *,
    at: int = 0,
    until_s: float = 0,
) -> Call:
    head = RequestHead(correlation_id=correlation_id, reply_topic=topic, reply_partition=to)
    return Call(head, ("asked", at), 1, 0, 0.0, until_s)


MOST_BYTES = 1000


@pytest.fixture
def repeats() -> Repeats:
    return Repeats(WINDOW_S, 3, MOST_BYTES)


def answer(repeats: Repeats, given: Call, body: bytes, value: bytes) -> None:
    assert repeats.look(given, body) == (Seen.NEW, None)
    assert repeats.answered(given, value) == []


def test_a_repeat_gets_the_bytes_of_the_first_answer(repeats: Repeats) -> None:
    answer(repeats, call(), b"body", b"the answer")
    for _ in range(3):
        assert repeats.look(call(), b"body") == (Seen.ANSWERED, b"the answer")
    assert len(repeats) == 1


def test_repeats_of_what_is_being_computed_wait_and_are_handed_out_once(repeats: Repeats) -> None:
    first, second, third = call(), call(), call()
    assert repeats.look(first, b"body") == (Seen.NEW, None)
    assert repeats.pending(call()) is first
    assert [repeats.look(again, b"body") for again in (second, third)] == [(Seen.PENDING, None)] * 2
    assert repeats.answered(first, b"the answer") == [second, third]
    assert repeats.answered(first, b"the answer") == []
    assert repeats.pending(call()) is None
    assert repeats.look(call(), b"body") == (Seen.ANSWERED, b"the answer")


@pytest.mark.parametrize("pending", [True, False])
def test_another_body_under_the_same_id_is_told(repeats: Repeats, pending: bool) -> None:
    first, clash = call(), call()
    repeats.look(first, b"body")
    if not pending:
        repeats.answered(first, b"the answer")
    assert repeats.look(clash, b"another") == (Seen.OTHER_BODY, None)
    assert repeats.answered(clash, b"invalid") == []
    if pending:
        assert repeats.pending(call()) is first
    else:
        assert repeats.look(call(), b"body") == (Seen.ANSWERED, b"the answer")


@pytest.mark.parametrize(
    "other",
    [
        lambda: call(b"other"),
        lambda: call(topic="s"),
        lambda: call(to=1),
        lambda: call(to=None),
        lambda: call(at=1),
        lambda: call(topic=None),
    ],
)
def test_another_caller_or_partition_has_an_answer_of_its_own(repeats: Repeats, other: Callable[[], Call]) -> None:
    answer(repeats, call(), b"body", b"the answer")
    answer(repeats, other(), b"another body", b"another answer")
    assert repeats.look(call(), b"body")[1] == b"the answer"
    assert repeats.look(other(), b"another body")[1] == b"another answer"


@pytest.mark.parametrize("correlation_id", [None, b""])
def test_without_an_id_nothing_is_a_repeat(repeats: Repeats, correlation_id: bytes | None) -> None:
    for body in (b"body", b"body", b"other"):
        answer(repeats, call(correlation_id), body, b"the answer")
    assert repeats.pending(call(correlation_id)) is None
    assert len(repeats) == 0


def test_what_another_try_may_do_better_is_not_remembered(repeats: Repeats) -> None:
    first, second = call(), call()
    repeats.look(first, b"body")
    repeats.look(second, b"body")
    assert repeats.answered(first, None) == [second]
    assert repeats.look(call(), b"body") == (Seen.NEW, None)


def test_answers_are_kept_for_the_window_since_they_were_given(repeats: Repeats, clock: Any) -> None:
    first = call()
    repeats.look(first, b"body")
    clock.now_s += 1_000
    repeats.answered(first, b"the answer")
    clock.now_s += WINDOW_S - 0.5
    assert repeats.look(call(), b"body")[0] is Seen.ANSWERED
    clock.now_s += 1.0
    assert repeats.look(call(), b"body")[0] is Seen.NEW


def test_b23_no_more_answers_are_kept_than_the_bound_and_the_oldest_go_first(repeats: Repeats) -> None:
    for n in range(50):
        answer(repeats, call(b"%d" % n, at=n % 4), b"body", b"answer %d" % n)
        assert len(repeats) <= 4
    assert repeats.look(call(b"49", at=1), b"body") == (Seen.ANSWERED, b"answer 49")
    assert [repeats.look(call(b"%d" % n, at=n % 4), b"body")[0] for n in (48, 47, 46, 0)] == [
        *[Seen.ANSWERED] * 2,
        *[Seen.NEW] * 2,
    ]


def test_b23_no_more_bytes_are_kept_than_the_bound(repeats: Repeats) -> None:
    """Of ids as of answers: a caller may make either as long as its topic lets it."""
    answer(repeats, call(b"first"), b"body", b"x")
    answer(repeats, call(b"long answer"), b"body", b"x" * MOST_BYTES)
    answer(repeats, call(b"long id" * 200), b"body", b"x")
    answer(repeats, call(b"last"), b"body", b"x")
    assert repeats.look(call(b"last"), b"body") == (Seen.ANSWERED, b"x")
    assert [repeats.look(call(name), b"body")[0] for name in (b"first", b"long answer", b"long id" * 200)] == [
        Seen.NEW
    ] * 3


def test_b23_what_has_left_weighs_nothing(repeats: Repeats) -> None:
    answer(repeats, call(b"gone", at=1), b"body", b"x" * (MOST_BYTES - 10))
    repeats.forget([("asked", 1)])
    for name in (b"one", b"two"):
        answer(repeats, call(name), b"body", b"x" * (MOST_BYTES // 2 - 10))
    assert [repeats.look(call(name), b"body")[0] for name in (b"one", b"two")] == [Seen.ANSWERED] * 2


def test_b23_one_that_takes_long_keeps_no_others_in_memory(repeats: Repeats, clock: Any) -> None:
    slow = call(b"slow")
    repeats.look(slow, b"body")
    for n in range(50):
        answer(repeats, call(b"%d" % n), b"body", b"x")
    assert len(repeats) <= 5
    clock.now_s += WINDOW_S + 1
    assert repeats.look(call(b"slow"), b"body")[0] is Seen.PENDING
    assert len(repeats) == 1


def test_b07_partitions_that_have_left_are_forgotten_and_others_are_not(repeats: Repeats) -> None:
    first = call(b"waits", at=1)
    repeats.look(first, b"body")
    repeats.look(call(b"waits", at=1), b"body")
    answer(repeats, call(at=1), b"body", b"of one")
    answer(repeats, call(at=2), b"body", b"of two")
    repeats.forget([("asked", 1), ("asked", 7)])
    assert len(repeats) == 1
    assert repeats.answered(first, b"too late") == []
    assert repeats.look(call(at=1), b"body") == (Seen.NEW, None)
    assert repeats.look(call(at=2), b"body") == (Seen.ANSWERED, b"of two")


def test_a_repeat_that_waits_longer_makes_the_first_worth_doing(repeats: Repeats) -> None:
    first = call(until_s=10.0)
    repeats.look(first, b"body")
    first.cancelled = True
    repeats.look(call(until_s=30.0), b"body")
    assert (first.deadline_s, first.cancelled) == (30.0, False)
    repeats.look(call(until_s=20.0), b"body")
    assert first.deadline_s == 30.0
