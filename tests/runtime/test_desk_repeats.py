"""Requests that come again, to the desk: computed once, answered by the same bytes."""

from collections.abc import Callable
from typing import Any

import pytest

MAKE = Callable[..., Any]


def test_a_repeat_is_answered_by_the_same_bytes_and_not_computed(desk: MAKE) -> None:
    road = desk()
    for _ in range(3):
        road.ask(1)
        road.walk()
    road.commit()
    replies = road.replies()
    assert len(replies) == 3
    assert len(set(replies)) == 1
    assert (road.scored, road.committed()) == (1, 3)
    assert road.metric("repeats_total") == {"": 2.0}
    assert road.metric("answers_total") == {"ok": 1.0}
    assert road.metric("replies_total") == {"delivered": 3.0}


def test_repeats_of_what_is_being_computed_share_its_answer(desk: MAKE) -> None:
    road = desk()
    for _ in range(3):
        road.ask(1)
    road.ask(2, "other")
    road.walk()
    road.commit()
    assert sorted(road.answers()) == [("a", "ok", 2.0), ("other", "ok", 4.0)]
    assert (road.scored, road.committed()) == (2, 4)
    assert road.metric("repeats_total") == {"": 2.0}


def test_a_refusal_that_would_be_the_same_is_remembered_too(desk: MAKE) -> None:
    road = desk()
    for _ in range(2):
        road.ask(b"not json")
        road.walk()
    assert len(set(road.replies())) == 1
    assert len(road.replies()) == 2
    assert road.metric("repeats_total") == {"": 1.0}


@pytest.mark.parametrize("at_once", [True, False])
def test_another_question_under_the_same_id_is_invalid(desk: MAKE, at_once: bool) -> None:
    road = desk()
    road.ask(1)
    if not at_once:
        road.walk()
    road.ask(2)
    road.walk()
    road.commit()
    clash = ("a", "invalid", "the correlation id came before with another body")
    assert sorted(road.answers()) == [clash, ("a", "ok", 2.0)]
    road.ask(1)
    road.walk()
    assert road.answers()[-1] == ("a", "ok", 2.0)
    assert (road.scored, road.committed()) == (1, 2)


@pytest.mark.parametrize("other", [{"to": 1}, {"to": None}, {"topic": "team-a"}, {"at": 1}])
def test_another_address_or_partition_has_an_answer_of_its_own(desk: MAKE, other: dict[str, Any]) -> None:
    road = desk()
    road.ask(1)
    road.ask(2, **other)
    road.walk()
    assert sorted(data for _, _, data in road.answers() + road.answers("team-a")) == [2.0, 4.0]
    assert (road.scored, road.metric("repeats_total")) == (2, {})


def test_what_expired_is_computed_when_asked_again(desk: MAKE) -> None:
    road = desk()
    road.ask(1, within_s=5)
    road.turn()
    road.clock.ahead_s += 10
    road.walk()
    road.ask(1, within_s=5)
    road.walk()
    assert [code for _, code, _ in road.answers()] == ["expired", "ok"]


def test_what_was_cancelled_is_computed_when_asked_again(desk: MAKE) -> None:
    road = desk()
    road.ask(1)
    road.cancel()
    road.walk()
    road.ask(1)
    road.walk()
    assert [code for _, code, _ in road.answers()] == ["cancelled", "ok"]


def test_a_repeat_after_a_cancel_in_the_same_poll_is_answered(desk: MAKE) -> None:
    road = desk()
    road.ask(1)
    road.cancel()
    road.ask(1)
    road.walk()
    road.commit()
    assert road.answers() == [("a", "ok", 2.0)]
    assert road.committed() == 3


def test_a_repeat_that_waits_longer_is_not_lost_with_the_first(desk: MAKE) -> None:
    road = desk()
    road.ask(1, within_s=5)
    road.ask(1, within_s=50)
    road.turn()
    road.clock.ahead_s += 20
    road.walk()
    assert road.answers() == [("a", "ok", 2.0)]


def test_after_the_window_or_beyond_the_bound_it_is_computed_again(desk: MAKE) -> None:
    road = desk(requests={"max_repeats": 1})
    for name in ("a", "b", "c", "a"):
        road.ask(1, name)
        road.walk()
    assert road.scored == 4
    assert road.metric("repeats_total") == {}


def test_b07_a_partition_that_was_away_comes_back_without_its_answers(desk: MAKE) -> None:
    road = desk(manual=True)
    road.consumer.give(("asked", 0), ("asked", 1))
    for partition in (0, 1):
        road.ask(1, at=partition)
    road.walk()
    road.consumer.revoke(("asked", 0))
    road.turn()
    road.consumer.give(("asked", 0))
    for partition in (0, 1):
        road.ask(1, at=partition)
    road.walk(2)
    assert road.scored == 3
    assert road.metric("repeats_total") == {"": 1.0}
