"""Lag: from fresh ends up to the last stable offset, never negative or from a sentinel; the age of the next record."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from pelton.consumers import lag as lag_file
from pelton.consumers.lag import Behind, Lag
from pelton.consumers.offsets import Reached
from pelton.errors import AccessDenied, BrokerUnavailable, KafkaFailure

from .log_reader import LogReader

AT = ("in", 0)


class Answer:
    def __init__(self, offset: int) -> None:
        self.offset = offset


class Admin:
    """An admin client for partitions that begin and end somewhere; what is absent is never answered.

    `hidden` are records of open transactions, behind the ends.
    """

    def __init__(self, ends: dict[Any, tuple[int, int] | KafkaError]) -> None:
        self.ends, self.hidden = ends, 0
        self.asked: list[dict[str, Any]] = []

    def list_offsets(self, wanted: dict[TopicPartition, Any], **options: Any) -> dict[TopicPartition, Future[Any]]:
        self.asked.append(options)
        hidden = self.hidden if options["isolation_level"] is IsolationLevel.READ_UNCOMMITTED else 0
        return {at: self._answer(at, spec, hidden) for at, spec in wanted.items()}

    def _answer(self, at: TopicPartition, spec: Any, hidden: int) -> Future[Any]:
        future: Future[Any] = Future()
        known = self.ends.get((at.topic, at.partition))
        if isinstance(known, KafkaError):
            future.set_exception(KafkaException(known))
        elif known is not None:
            future.set_result(Answer(known[type(spec) is type(OffsetSpec.latest())] + hidden))
        return future


@pytest.fixture
def lag_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`lag_of({("in", 0): (start, end)}, reset, committed, logs)` makes a lag over clients that know these.

    Of a partition without a log every offset holds a record, written as many milliseconds after the epoch.
    """

    def make(
        ends: dict[Any, Any],
        reset: str = "earliest",
        committed: dict[Any, int] | None = None,
        logs: dict[Any, dict[int, int | None]] | None = None,
    ) -> Any:
        admin = Admin(ends)
        full = {at: {n: n for n in range(*known)} for at, known in ends.items() if isinstance(known, tuple)}
        reader = LogReader({**full, **(logs or {})})
        reader.commits = committed or {}
        monkeypatch.setattr(lag_file, "AdminClient", lambda _: admin)
        monkeypatch.setattr(lag_file, "Consumer", lambda _: reader)
        return Lag({}, "g", reset), admin, reader

    return make


def records(lag: Lag, reached: dict[Any, Reached], timeout_s: float = 1.0) -> dict[Any, int]:
    return {at: behind.records for at, behind in lag.behind(reached, timeout_s).items()}


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
@pytest.mark.parametrize("in_hand", [0, 3])
def test_b16_lag_counts_from_the_position_or_the_start_of_the_log(
    lag_of: Any, start: int, end: int, position: int, expected: int, in_hand: int
) -> None:
    lag, _, _ = lag_of({AT: (start, end)})
    # What is in hand is to be done even where its history was deleted.
    assert records(lag, {AT: Reached(position, in_hand)}) == {AT: max(in_hand, expected)}


def test_b16_partitions_are_counted_each_for_itself(lag_of: Any) -> None:
    lag, _, _ = lag_of({("in", 0): (0, 10), ("in", 1): (5, 20), ("also", 0): (0, 0)})
    positions = {("in", 0): Reached(3), ("in", 1): Reached(0), ("also", 0): Reached(0)}
    assert records(lag, positions) == {("in", 0): 7, ("in", 1): 15, ("also", 0): 0}


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
    lag, _, _ = lag_of({AT: (10, 500)}, reset, {} if committed is None else {AT: committed})
    assert records(lag, {AT: Reached()}) == {AT: expected}


@pytest.mark.parametrize(
    ("reset", "committed", "hidden", "expected"),
    [("earliest", 1000, 0, 490), ("latest", 1000, 0, 0), ("earliest", 501, 0, 490), ("earliest", 505, 5, 0)],
)
def test_b16_a_commit_beyond_the_log_is_none_unless_an_open_transaction_hides_what_lies_before_it(
    lag_of: Any, reset: str, committed: int, hidden: int, expected: int
) -> None:
    lag, admin, _ = lag_of({AT: (10, 500)}, reset, {AT: committed})
    admin.hidden = hidden
    assert records(lag, {AT: Reached()}) == {AT: expected}


def test_b16_a_partition_that_is_gone_leaves_the_others_their_lag(lag_of: Any) -> None:
    gone = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    lag, _, _ = lag_of({AT: (0, 10), ("old", 0): gone}, committed={("old", 0): 7})
    assert records(lag, {AT: Reached(4), ("old", 0): Reached()}) == {AT: 6}
    assert records(lag, {("old", 0): Reached(7)}) == {}


def test_b15_the_end_asked_for_is_that_of_committed_records(lag_of: Any) -> None:
    lag, admin, _ = lag_of({AT: (0, 1)})
    lag.behind({AT: Reached(0)}, 1.5)
    assert {options["isolation_level"] for options in admin.asked} == {IsolationLevel.READ_COMMITTED}
    assert all(1.0 < options["request_timeout"] <= 1.5 for options in admin.asked)


@pytest.mark.parametrize(
    ("log", "reached", "expected"),
    [
        ({}, Reached(), Behind(0, 101, 101)),  # committed 100, and a marker behind: also after a restart
        ({}, Reached(100), Behind(0, 101, 101)),
        ({100: 4000}, Reached(90), Behind(1, 100, 101, 4000)),  # the rest was aborted, or compacted away
        ({95: 3000, 100: 4000}, Reached(90), Behind(6, 95, 101, 3000)),
        ({95: None}, Reached(90), Behind(6, 95, 101, None)),
        ({}, Reached(90, 2, 1500), Behind(11, 90, 101, 1500)),  # what is in hand is known without a look
    ],
)
def test_b15_what_is_ahead_is_looked_at_where_the_end_says_too_much(
    lag_of: Any, log: dict[int, int | None], reached: Reached, expected: Behind
) -> None:
    lag, _, _ = lag_of({AT: (0, 101)}, committed={AT: 100}, logs={AT: log})
    assert lag.behind({AT: reached}, 1.0) == {AT: expected}


def test_without_anything_ahead_or_with_records_in_hand_nothing_is_read(lag_of: Any) -> None:
    lag, _, reader = lag_of({("in", n): (0, 10) for n in range(3)})
    lag.behind({("in", 0): Reached(10), ("in", 1): Reached(3, 4, 1000), ("in", 2): Reached(6)}, 1.0)
    assert reader.assigned == [{("in", 2): 6}]


def test_a_record_that_does_not_come_in_time_is_counted_unseen_and_has_no_age(
    lag_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_file, "LOOK_S", 0.01)
    lag, _, reader = lag_of({AT: (0, 10)})
    reader.silent = {AT}
    (behind,) = lag.behind({AT: Reached(4)}, 1.0).values()
    assert (behind, behind.oldest_s) == (Behind(6, 4, 10), None)


def test_what_was_passed_once_is_no_rewind_when_the_next_record_takes_its_time(
    lag_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_file, "LOOK_S", 0.01)
    lag, admin, reader = lag_of({AT: (0, 101)}, logs={AT: {}})
    assert lag.behind({AT: Reached(100)}, 1.0) == {AT: Behind(0, 101, 101)}
    admin.ends[AT] = (0, 103)
    reader.silent = {AT}
    assert lag.behind({AT: Reached(100)}, 1.0) == {AT: Behind(2, 101, 103)}


def test_the_age_is_by_our_clock_and_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_file.time, "time", lambda: 5000.0)
    told = [Behind(3, 7, 10, time_ms).oldest_s for time_ms in (4_990_500, 5_000_000, 5_060_000, None)]
    assert told == [9.5, 0.0, 0.0, None]
    assert Behind(0, 10, 10).oldest_s == 0.0


def test_without_a_position_nobody_is_asked(lag_of: Any) -> None:
    lag, admin, _ = lag_of({})
    assert lag.behind({}, 1.0) == {}
    assert admin.asked == []


def test_b16_what_the_broker_refuses_is_unknown_and_not_zero(lag_of: Any) -> None:
    lag, _, _ = lag_of({AT: KafkaError(KafkaError._TRANSPORT, "gone")})
    with pytest.raises(BrokerUnavailable, match="gone"):
        lag.behind({AT: Reached(0)}, 1.0)


def test_b16_a_look_that_is_refused_makes_lag_unknown_too(lag_of: Any) -> None:
    lag, _, reader = lag_of({AT: (0, 10)})
    reader.error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AccessDenied):
        lag.behind({AT: Reached(0)}, 1.0)


def test_b16_what_is_not_answered_in_time_is_unknown_and_not_zero(lag_of: Any) -> None:
    lag, _, _ = lag_of({})
    with pytest.raises(KafkaFailure):
        lag.behind({AT: Reached(0)}, 0.0)


def test_b16_a_commit_that_cannot_be_asked_for_makes_lag_unknown_too(
    lag_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lag, _, reader = lag_of({AT: (0, 10)})

    def away(*_: Any, **__: Any) -> None:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    monkeypatch.setattr(reader, "committed", away)
    with pytest.raises(BrokerUnavailable):
        lag.behind({AT: Reached()}, 1.0)


def test_the_admin_client_takes_the_question_as_it_is_asked() -> None:
    """The fake cannot prove that: a real client is asked, without a broker."""
    lag = Lag({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "g", "earliest")
    for reached in (Reached(0), Reached()):
        with pytest.raises(KafkaFailure):
            lag.behind({AT: reached}, 0.05)


def test_a_leader_that_was_elected_since_is_learned_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart of its broker a client asked in vain for as long as it believed what it knew: 15 minutes."""
    configs: list[dict[str, Any]] = []
    monkeypatch.setattr(lag_file, "AdminClient", configs.append)
    monkeypatch.setattr(lag_file, "Consumer", lambda _: None)
    for given in ({}, {"metadata.max.age.ms": 900}):
        Lag(given, "g", "earliest")
    assert [config["metadata.max.age.ms"] for config in configs] == [5_000, 900]
