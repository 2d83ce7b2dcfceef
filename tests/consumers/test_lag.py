"""Lag: from fresh watermarks up to the last stable offset, never negative, never from a sentinel."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from pelton.consumers import lag as lag_file
from pelton.consumers.lag import Lag
from pelton.errors import BrokerUnavailable, KafkaFailure
from pelton.testing import FakeKafka

AT = ("in", 0)


class Answer:
    def __init__(self, offset: int) -> None:
        self.offset = offset


class Admin:
    """An admin client for partitions that begin and end somewhere; what is absent is never answered."""

    def __init__(self, ends: dict[Any, tuple[int, int] | KafkaError]) -> None:
        self.ends = ends
        self.asked: list[dict[str, Any]] = []

    def list_offsets(self, wanted: dict[TopicPartition, Any], **options: Any) -> dict[TopicPartition, Future[Any]]:
        self.asked.append(options)
        return {at: self._answer(at, spec) for at, spec in wanted.items()}

    def _answer(self, at: TopicPartition, spec: Any) -> Future[Any]:
        future: Future[Any] = Future()
        known = self.ends.get((at.topic, at.partition))
        if isinstance(known, KafkaError):
            future.set_exception(KafkaException(known))
        elif known is not None:
            future.set_result(Answer(known[type(spec) is type(OffsetSpec.latest())]))
        return future


@pytest.fixture
def lag_of(monkeypatch: pytest.MonkeyPatch, kafka: FakeKafka) -> Any:
    """`lag_of({("in", 0): (start, end)}, reset, committed)` makes a lag over an admin client that knows these."""

    def make(ends: dict[Any, Any], reset: str = "earliest", committed: dict[Any, int] | None = None) -> Any:
        admin = Admin(ends)
        monkeypatch.setattr(lag_file, "AdminClient", lambda _: admin)
        monkeypatch.setattr(lag_file, "Consumer", kafka.consumer)
        kafka.take_commit("g", [TopicPartition(*at, offset) for at, offset in (committed or {}).items()])
        return Lag({}, "g", reset), admin

    return make


@pytest.mark.parametrize(
    ("start", "end", "position", "expected"),
    [
        (0, 500, 0, 500),
        (0, 500, 500, 0),
        (0, 500, 499, 1),
        (500, 500, 0, 0),  # all of it deleted
        (75, 75, 50, 0),  # the log begins after what was committed
        (60, 75, 50, 15),
        (0, 100, 101, 0),  # a position ahead of a stale end
        (0, 101, 101, 0),
    ],
)
def test_b16_lag_counts_from_the_position_or_the_start_of_the_log(
    lag_of: Any, start: int, end: int, position: int, expected: int
) -> None:
    lag, _ = lag_of({AT: (start, end)})
    assert lag.records({AT: position}, 1.0) == {AT: expected}


def test_b16_partitions_are_counted_each_for_itself(lag_of: Any) -> None:
    lag, _ = lag_of({("in", 0): (0, 10), ("in", 1): (5, 20), ("also", 0): (0, 0)})
    positions = {("in", 0): 3, ("in", 1): 0, ("also", 0): 0}
    assert lag.records(positions, 1.0) == {("in", 0): 7, ("in", 1): 15, ("also", 0): 0}


@pytest.mark.parametrize(
    ("reset", "committed", "expected"),
    [
        ("earliest", None, 490),
        ("latest", None, 0),
        ("error", None, 0),
        ("earliest", 200, 300),
        ("latest", 200, 300),
        ("latest", 3, 490),
        ("earliest", 0, 490),
        ("latest", 0, 490),
    ],
)
def test_b16_without_a_position_lag_counts_from_the_commit_or_from_where_the_group_begins(
    lag_of: Any, reset: str, committed: int | None, expected: int
) -> None:
    lag, _ = lag_of({AT: (10, 500)}, reset, {} if committed is None else {AT: committed})
    assert lag.records({AT: None}, 1.0) == {AT: expected}


def test_b15_the_end_asked_for_is_that_of_committed_records(lag_of: Any) -> None:
    lag, admin = lag_of({AT: (0, 1)})
    lag.records({AT: 0}, 1.5)
    assert {options["isolation_level"] for options in admin.asked} == {IsolationLevel.READ_COMMITTED}
    assert all(1.0 < options["request_timeout"] <= 1.5 for options in admin.asked)


def test_without_a_position_nobody_is_asked(lag_of: Any) -> None:
    lag, admin = lag_of({})
    assert lag.records({}, 1.0) == {}
    assert admin.asked == []


def test_b16_what_the_broker_refuses_is_unknown_and_not_zero(lag_of: Any) -> None:
    lag, _ = lag_of({AT: KafkaError(KafkaError._TRANSPORT, "gone")})
    with pytest.raises(BrokerUnavailable, match="gone"):
        lag.records({AT: 0}, 1.0)


def test_b16_what_is_not_answered_in_time_is_unknown_and_not_zero(lag_of: Any) -> None:
    lag, _ = lag_of({})
    with pytest.raises(KafkaFailure):
        lag.records({AT: 0}, 0.0)


def test_b16_a_commit_that_cannot_be_asked_for_makes_lag_unknown_too(lag_of: Any, kafka: FakeKafka) -> None:
    lag, _ = lag_of({AT: (0, 10)})
    kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        lag.records({AT: None}, 1.0)


def test_the_admin_client_takes_the_question_as_it_is_asked() -> None:
    """The fake cannot prove that: a real client is asked, without a broker."""
    lag = Lag({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "g", "earliest")
    for position in (0, None):
        with pytest.raises(KafkaFailure):
            lag.records({AT: position}, 0.05)


def test_a_leader_that_was_elected_since_is_learned_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart of its broker a client asked in vain for as long as it believed what it knew: 15 minutes."""
    configs: list[dict[str, Any]] = []
    monkeypatch.setattr(lag_file, "AdminClient", configs.append)
    monkeypatch.setattr(lag_file, "Consumer", lambda _: None)
    for given in ({}, {"metadata.max.age.ms": 900}):
        Lag(given, "g", "earliest")
    assert [config["metadata.max.age.ms"] for config in configs] == [5_000, 900]
