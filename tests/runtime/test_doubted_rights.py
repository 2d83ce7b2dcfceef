"""A right that was taken away is missed also where nothing is committed, and found again."""

from types import SimpleNamespace
from typing import Any

import pytest

from pelton import doubted_rights
from pelton.consumers.source import GROUP
from pelton.deadline import Deadline
from pelton.doubted_rights import DoubtedRights
from pelton.errors import AccessDenied, BrokerUnavailable


class Broker:
    def __init__(self) -> None:
        self.answer: Exception | None = None
        self.asked = 0

    def ask(self) -> None:
        self.asked += 1
        if self.answer:
            raise self.answer


@pytest.fixture
def source() -> Any:
    return SimpleNamespace(problems={}, commits=SimpleNamespace(denied="", n_refused=0))


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def rights(source: Any, broker: Broker) -> DoubtedRights:
    return DoubtedRights([SimpleNamespace(source=source)], broker.ask)  # type: ignore[list-item]


def look_again(rights: DoubtedRights) -> str:
    rights._due = Deadline.after(0)
    return rights.lacking()


def test_nobody_is_asked_while_nothing_is_in_doubt(rights: DoubtedRights, source: Any, broker: Broker) -> None:
    assert rights.lacking() == ""
    source.problems["in"] = "no topic"
    assert look_again(rights) == ""
    assert broker.asked == 0


def test_a_doubt_is_asked_about_until_it_is_settled(rights: DoubtedRights, source: Any, broker: Broker) -> None:
    source.problems[GROUP] = "Group authorization failed"
    broker.answer = AccessDenied("no right to READ group g")
    assert rights.lacking() == "no right to READ group g"
    assert rights.lacking() == "no right to READ group g"
    assert broker.asked == 1, f"asked again within {doubted_rights.ASK_EVERY_S} s"
    broker.answer = BrokerUnavailable("away")
    assert look_again(rights) == "no right to READ group g"
    assert GROUP in source.problems
    broker.answer = None
    look_again(rights)
    assert look_again(rights) == ""
    assert GROUP not in source.problems
    assert look_again(rights) == ""
    assert broker.asked == 4


def test_a_commit_that_was_refused_is_no_reason_once_nothing_is_refused_any_more(
    rights: DoubtedRights, source: Any, broker: Broker
) -> None:
    """The member is idle: no commit comes that could be taken."""
    source.commits.denied, source.commits.n_refused = "offsets cannot be committed", 3
    assert rights.lacking() == "offsets cannot be committed"
    look_again(rights)
    assert rights.lacking() == ""
    assert source.commits.denied == ""


def test_a_broker_that_tells_no_rights_and_refuses_all_the_same_is_believed(
    rights: DoubtedRights, source: Any, broker: Broker
) -> None:
    source.commits.denied = "offsets cannot be committed"
    for _ in range(5):
        source.commits.n_refused += 1
        assert look_again(rights) == "offsets cannot be committed"
