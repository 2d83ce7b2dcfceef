"""Reply topics: allowed by pattern, looked up once for all who wait, remembered, and forgotten when they go."""

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from pelton.errors import AccessDenied, BrokerUnavailable
from pelton.producers.reply_topics import AT_ONCE, ReplyTopics


class Broker:
    """Describes topics once it is let; counts how often it was asked for each."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {"answers": 3}
        self.asked: list[str] = []
        self.failures: list[Exception] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def describe(self, names: Iterable[str]) -> dict[str, int]:
        names = list(names)
        self.asked.append(" ".join(names))
        assert self.may_answer.wait(20)
        if self.failures:
            raise self.failures.pop(0)
        if "team-secret" in names:
            raise AccessDenied("team-secret: not authorized")
        return {name: self.topics[name] for name in names if name in self.topics}


class Clock:
    now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


class Heard:
    """Who was told what, by name; can be waited for."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self._changed = threading.Condition()

    def by(self, name: str) -> Any:
        def then(n: int) -> None:
            with self._changed:
                self.told.append((name, n))
                self._changed.notify_all()

        return then

    def after(self, n: int) -> list[tuple[str, int]]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.told) >= n, 20)
            return self.told


@pytest.fixture
def broker() -> Iterator[Broker]:
    made = Broker()
    yield made
    made.may_answer.set()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("pelton.deadline.time", made)
    return made


@pytest.fixture
def topics(broker: Broker) -> ReplyTopics:
    return ReplyTopics(["answers", "team-*", "a?"], broker.describe)


@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("answers", True),
        ("team-", True),
        ("team-a.b_C", True),
        ("a1", True),
        ("a", False),
        ("Answers", False),
        ("answers2", False),
        ("the-team-a", False),
        ("", False),
        ("team-" + "a" * 244, True),
        ("team-" + "a" * 245, False),  # no topic can be called so
        ("team-a b", False),
        ("team-\x00", False),
        ("team-ü", False),
        ("team-a\n", False),
    ],
)
def test_a_topic_is_allowed_if_a_pattern_matches_the_whole_of_a_legal_name(
    topics: ReplyTopics, topic: str, allowed: bool
) -> None:
    assert topics.allows(topic) is allowed


def test_one_look_up_serves_all_who_wait_and_nobody_is_made_to(
    topics: ReplyTopics, broker: Broker, heard: Heard
) -> None:
    broker.may_answer.clear()
    for n in range(100):
        topics.when_known("answers", heard.by(f"{n}"))
    assert (topics.waiting, heard.told) == (100, [])
    broker.may_answer.set()
    assert heard.after(100) == [(f"{n}", 3) for n in range(100)]
    assert (topics.waiting, broker.asked) == (0, ["answers"])
    topics.when_known("answers", heard.by("later"))
    assert heard.told[-1] == ("later", 3)
    assert broker.asked == ["answers"]


def test_a_missing_topic_is_not_asked_for_again_for_five_seconds(
    topics: ReplyTopics, broker: Broker, heard: Heard, clock: Clock
) -> None:
    topics.when_known("team-x", heard.by("first"))
    assert heard.after(1) == [("first", 0)]
    broker.topics["team-x"] = 2
    clock.now_s += 4.9
    topics.when_known("team-x", heard.by("second"))
    assert heard.told[-1] == ("second", 0)
    assert broker.asked == ["team-x"]
    clock.now_s += 0.2
    topics.when_known("team-x", heard.by("third"))
    assert heard.after(3)[-1] == ("third", 2)
    assert broker.asked == ["team-x", "team-x"]


def test_b50_a_partition_added_later_is_found_within_five_seconds(
    topics: ReplyTopics, broker: Broker, heard: Heard, clock: Clock
) -> None:
    topics.when_known("answers", heard.by("first"))
    heard.after(1)
    broker.topics["answers"] = 5
    topics.when_known("answers", heard.by("too soon"), 4)
    assert heard.told[-1] == ("too soon", 3)
    clock.now_s += 5.1
    topics.when_known("answers", heard.by("old partition"), 2)
    assert heard.told[-1] == ("old partition", 3)
    assert broker.asked == ["answers"]
    topics.when_known("answers", heard.by("new partition"), 4)
    assert heard.after(4)[-1] == ("new partition", 5)
    assert broker.asked == ["answers", "answers"]


def test_a_topic_that_is_gone_is_looked_up_anew(topics: ReplyTopics, broker: Broker, heard: Heard) -> None:
    topics.when_known("answers", heard.by("before"))
    heard.after(1)
    broker.topics["answers"] = 5
    topics.forget("answers")
    topics.forget("never-heard-of")
    topics.when_known("answers", heard.by("after"))
    assert heard.after(2) == [("before", 3), ("after", 5)]


@pytest.mark.parametrize("error", [BrokerUnavailable("nobody there"), ValueError("the client has other ideas")])
def test_a_look_up_that_fails_is_an_answer_and_the_next_one_works(
    topics: ReplyTopics, broker: Broker, heard: Heard, clock: Clock, error: Exception
) -> None:
    broker.failures = [error]
    topics.when_known("answers", heard.by("first"))
    assert heard.after(1) == [("first", 0)]
    topics.when_known("team-y", heard.by("other"))
    assert heard.after(2) == [("first", 0), ("other", 0)]
    clock.now_s += 5.1
    topics.when_known("answers", heard.by("second"))
    assert heard.after(3)[-1] == ("second", 3)


def test_names_that_come_meanwhile_are_looked_up_together(topics: ReplyTopics, broker: Broker, heard: Heard) -> None:
    """One by one, a caller that names thousands of topics would hold everybody's first answer back."""
    broker.may_answer.clear()
    topics.when_known("team-first", heard.by("first"))
    while not broker.asked:
        time.sleep(0.001)
    for n in range(AT_ONCE - 1):
        topics.when_known(f"team-{n}", heard.by(f"{n}"))
    topics.when_known("answers", heard.by("mine"))
    broker.may_answer.set()
    assert heard.after(AT_ONCE + 1)[-1] == ("mine", 3)
    assert len(broker.asked) == 2


def test_one_that_may_not_be_looked_up_costs_its_neighbours_nothing(
    topics: ReplyTopics, broker: Broker, heard: Heard
) -> None:
    broker.may_answer.clear()
    for name in ("answers", "team-secret", "team-x", "a1"):
        topics.when_known(name, heard.by(name))
    broker.topics["a1"] = 2
    broker.may_answer.set()
    assert sorted(heard.after(4)) == [("a1", 2), ("answers", 3), ("team-secret", 0), ("team-x", 0)]


def test_b23_missing_topics_are_remembered_no_longer_than_that(topics: ReplyTopics, heard: Heard, clock: Clock) -> None:
    for n in range(50):
        topics.when_known(f"team-{n}", heard.by(f"{n}"))
        heard.after(n + 1)
        clock.now_s += 1.0
    assert len(topics._looked) <= 6
