"""What a worker tells of itself: its state and why, its lag, its metrics."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import Behind
from pelton.consumers.offsets import Reached
from pelton.errors import BrokerUnavailable
from pelton.handover import Handover
from pelton.reports import Reporter, StatusReport
from pelton.schemas.settings_groups import Health
from pelton.states import WorkerState
from pelton.watch import Watch

from .states_told import states_told

MAKE = Callable[..., Any]
IDENTITY = StatusReport(model="doubler", version="1@abc", device="cpu", startup_s=1.5)


class StatedLag:
    """Lag as the test states it: the end of each partition, and the time of the record that is read next."""

    def __init__(self) -> None:
        self.ends: dict[Partition, int] = {}
        self.next_ms: int | None = None
        self.asked: list[dict[Partition, Reached]] = []
        self.answers = True

    def behind(self, stands: dict[Partition, Reached], _timeout_s: float) -> dict[Partition, Behind]:
        self.asked.append(dict(stands))
        if not self.answers:
            raise BrokerUnavailable("no answer")
        return {
            at: Behind(
                max(stand.in_hand, self.ends.get(at, 0) - (stand.offset or 0)),
                stand.offset or 0,
                self.ends.get(at, 0),
                stand.time_ms if stand.in_hand else self.next_ms,
            )
            for at, stand in stands.items()
        }


class Look:
    """A watch over a loop, and the states that were told in turn."""

    def __init__(self, walk: Any, reporter: Reporter) -> None:
        self.walk, self.lag, self.reporter = walk, StatedLag(), reporter
        self.told = states_told(reporter)
        self.watch = Watch({walk.loop: self.lag}, reporter, identity=IDENTITY, health=Health())

    def join(self) -> None:
        """Join the group as a worker does."""
        self.walk.loop.source.join(Handover(self.walk.loop, self.watch.joined, self.watch.moving))


@pytest.fixture
def look(road: MAKE) -> Iterator[Callable[..., Look]]:
    """`look(**settings)` makes a worker that is just about to join its group."""
    reporters = []
    read_fd, write_fd = os.pipe()

    def make(**settings: Any) -> Look:
        reporter = Reporter(write_fd, on_lost=lambda: None)
        reporters.append(reporter)
        for state in (WorkerState.LOADING, WorkerState.WARMING, WorkerState.JOINING):
            reporter.state(state)
        return Look(road(**settings), reporter)

    yield make
    for reporter in reporters:
        reporter.close()
    os.close(read_fd)


def reach_again(look: Look) -> None:
    look.watch._reach_due = type(look.watch._reach_due).after(0)


def test_a_worker_is_ready_once_it_has_joined(look: MAKE) -> None:
    one = look(manual=True)
    one.watch.status()
    assert one.told[-1] == ("joining", "")
    one.walk.consumer.give()
    one.walk.walk()
    one.watch.joined()
    assert one.told[-1] == ("ready", "")
    one.watch.status()
    assert one.told == [("joining", ""), ("ready", "")]


def test_b40_a_topic_that_is_missing_is_named_and_the_others_are_served(look: MAKE) -> None:
    one = look(manual=True)
    one.walk.consumer.fail(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic"), "later")
    one.walk.walk()
    one.watch.status()
    assert one.told[-1] == ("joining", "later: Broker: Unknown topic")
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    one.watch.status()
    assert one.told[-1] == ("ready", "later: Broker: Unknown topic")


@pytest.mark.parametrize("how", ["revoke", "lose"])
def test_b17_a_worker_is_rebalancing_until_the_group_has_said_what_comes(look: MAKE, how: str) -> None:
    one = look(manual=True, join=False)
    one.join()
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    getattr(one.walk.consumer, how)(("in", 0))
    one.walk.walk()
    assert one.told == [("ready", ""), ("rebalancing", "")]
    one.watch.status()
    assert one.told[-1] == ("rebalancing", "")
    one.walk.consumer.give()
    one.walk.walk()
    one.watch.status()
    assert one.told == [("ready", ""), ("rebalancing", ""), ("ready", "")]


def test_b17_a_worker_whose_scores_cannot_leave_stays_blocked_over_a_rebalance(look: MAKE) -> None:
    one = look(manual=True, join=False)
    one.join()
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    one.walk.kafka.reachable = False
    reach_again(one)
    one.watch.status()
    one.walk.consumer.revoke(("in", 0))
    one.walk.walk()
    one.watch.status()
    assert [state for state, _ in one.told] == ["ready", "blocked"]


def test_b17_a_rebalance_is_told_before_the_batch_in_hand_is_waited_for(
    look: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = look(manual=True, join=False)
    one.join()
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    seen: list[WorkerState] = []
    monkeypatch.setattr(one.walk.loop.batcher, "wait_for_batch", lambda _: bool(seen.append(one.reporter.current)))
    one.walk.consumer.revoke(("in", 0))
    one.walk.walk()
    assert seen[0] is WorkerState.REBALANCING


def test_a_sink_that_cannot_be_reached_blocks_until_it_can(look: MAKE) -> None:
    one = look()
    one.walk.walk()
    one.watch.status()
    one.walk.kafka.reachable = False
    reach_again(one)
    one.watch.status()
    state, reason = one.told[-1]
    assert state == "blocked"
    assert "transport failure" in reason
    one.walk.kafka.reachable = True
    reach_again(one)
    one.watch.status()
    assert one.told[-1] == ("ready", "")


def test_a_worker_that_may_commit_nothing_is_blocked_until_it_may(look: MAKE) -> None:
    one = look(manual=True)
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    denied = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "no right")
    one.walk.loop.source.commits.hear(denied, [])
    one.watch.status()
    assert one.told[-1] == ("blocked", "offsets cannot be committed: no right")
    one.walk.loop.source.commits.hear(None, [])
    one.watch.status()
    assert one.told[-1] == ("ready", "")


def test_b40_a_broker_that_is_away_before_the_join_is_told_as_the_reason(look: MAKE) -> None:
    one = look(manual=True)
    one.walk.kafka.reachable = False
    reach_again(one)
    one.watch.status()
    assert one.told[-1][0] == "joining"
    assert "transport failure" in one.told[-1][1]


def test_deliveries_that_wait_too_long_block_at_once_and_why_is_asked_next(
    look: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = look()
    one.walk.walk()
    waits = [10.0, 10.5, 11.0, 11.5, 0.0]
    monkeypatch.setattr(one.walk.loop.sink, "waiting_s", lambda: waits.pop(0))
    one.watch.status()
    assert one.told[-1] == ("ready", "")
    one.walk.kafka.reachable = False
    one.watch.status()
    assert one.told[-1] == ("blocked", "a delivery has been waiting for 10 s and more")
    one.watch.status()
    assert one.told[-1] == ("blocked", "scores cannot leave: Local: Broker transport failure")
    one.walk.kafka.reachable = True
    one.watch.status()
    assert one.told[-1] == ("blocked", "a delivery has been waiting for 10 s and more")
    one.watch.status()
    assert one.told[-1] == ("ready", "")


def test_the_status_tells_of_tries_that_fail_and_the_metrics_count_them(look: MAKE) -> None:
    one = look()
    one.walk.walk()
    tries = one.walk.loop.sink.tries
    for reason in ("the first", "the second"):
        tries.failed(reason)
    told = one.watch.status()
    assert (told.sink_attempts, told.sink_reason) == (2, "the second")
    assert told.sink_failing_s >= 0
    assert "pelton_sink_retries_total 2.0" in one.watch.metrics()
    tries.failed("the third")
    tries.succeeded()
    told = one.watch.status()
    assert (told.sink_attempts, told.sink_failing_s, told.sink_reason) == (0, 0.0, "")
    assert "pelton_sink_retries_total 3.0" in one.watch.metrics()


def test_a_delivery_that_only_waits_is_told_as_failing_for_as_long(look: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    one = look()
    one.walk.walk()
    for waits_s, failing_s in ((9.5, 0.0), (11.0, 11.0)):
        monkeypatch.setattr(one.walk.loop.sink, "waiting_s", lambda waits_s=waits_s: waits_s)
        assert one.watch.status().sink_failing_s == failing_s


def test_b10_after_draining_no_other_state_is_told(look: MAKE) -> None:
    one = look()
    one.walk.walk()
    one.watch.drain()
    reach_again(one)
    one.walk.kafka.reachable = False
    status = one.watch.status()
    one.watch.joined()
    assert one.told == [("draining", "")]
    assert [at.lag for at in status.partitions] == [None] * 4
    assert one.lag.asked == []


def test_status_counts_what_became_of_records(look: MAKE) -> None:
    one = look()
    one.walk.write(1, 2, b"not json")
    one.walk.kafka.reachable = False
    one.walk.walk()
    status = one.watch.status()
    assert (status.model, status.version, status.device, status.startup_s) == ("doubler", "1@abc", "cpu", 1.5)
    assert (status.records, status.scored, status.dead_letters, status.in_flight) == (3, 0, 0, 3)
    one.walk.kafka.reachable = True
    one.walk.walk()
    status = one.watch.status()
    assert (status.records, status.scored, status.dead_letters, status.in_flight) == (3, 2, 1, 0)


def lags(one: Look) -> dict[int, int | None]:
    return {at.partition: at.lag for at in one.watch.status().partitions}


def exposed_lags(one: Look) -> dict[str, float]:
    lines = [line for line in one.watch.metrics().splitlines() if line.startswith("pelton_lag_records{")]
    return {line.partition('partition="')[2].partition('"')[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_b05_b16_lag_counts_what_is_not_polled_and_what_is_not_safe(
    look: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.consumers.source.POSITIONS_EVERY_S", 0.0)
    one = look()
    one.walk.kafka.reachable = True
    one.walk.kafka.stalled = {("out", 0)}
    one.walk.write(1, 2, 3)
    one.walk.walk(2)
    one.lag.ends = {("in", n): 10 for n in range(4)}
    assert lags(one) == {0: 10, 1: 10, 2: 10, 3: 10}
    assert one.lag.asked[-1] == {("in", 0): (0, 3, 0), **{("in", n): (None, 0, None) for n in (1, 2, 3)}}
    assert exposed_lags(one) == {"0": 10.0, "1": 10.0, "2": 10.0, "3": 10.0}
    one.walk.kafka.stalled.clear()
    one.walk.walk()
    assert lags(one)[0] == 7


def test_b16_lag_that_nobody_can_tell_is_unknown_and_not_exposed(look: MAKE) -> None:
    one = look()
    one.walk.walk()
    assert lags(one) == {0: 0, 1: 0, 2: 0, 3: 0}
    one.lag.answers = False
    assert lags(one) == {0: None, 1: None, 2: None, 3: None}
    assert exposed_lags(one) == {}
    one.lag.answers = True
    assert lags(one)[0] == 0
    assert len(exposed_lags(one)) == 4


def test_lag_is_told_in_seconds_too_and_drain_time_by_the_rate_of_late(
    look: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = [1000.0]
    monkeypatch.setattr("pelton.partition_view.time.monotonic", lambda: clock_s[0])
    monkeypatch.setattr("pelton.consumers.lag.time.time", lambda: 5000.0)
    one = look()
    one.walk.walk()
    one.lag.ends, one.lag.next_ms = {("in", 0): 100}, 4_970_000
    first = one.watch.status().partitions
    assert [(at.lag, at.lag_s, at.drain_s) for at in first] == [(100, 30.0, None), *[(0, 0.0, 0.0)] * 3]
    one.walk.write(*range(20), timestamp_ms=4_970_000)
    one.walk.walk()
    clock_s[0] += 10
    # 20 records in ten seconds are two a second, and 80 are left.
    assert (one.watch.status().partitions[0].lag, one.watch.status().partitions[0].drain_s) == (80, 40.0)
    text = one.watch.metrics()
    assert 'pelton_lag_seconds{partition="0",topic="in"} 30.0' in text
    assert 'pelton_drain_seconds{partition="0",topic="in"} 40.0' in text
    one.walk.consumer.revoke(("in", 0))
    one.walk.walk()
    one.watch.status()
    assert 'partition="0"' not in one.watch.metrics()


def test_what_is_in_hand_is_as_old_as_its_record(look: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.consumers.lag.time.time", lambda: 5000.0)
    one = look()
    one.walk.kafka.stalled = {("out", 0)}
    one.walk.write(1, timestamp_ms=4_700_000)
    one.walk.write(2, timestamp_ms=4_990_000)
    one.walk.walk(2)
    assert (one.watch.status().partitions[0].lag, one.watch.status().partitions[0].lag_s) == (2, 300.0)


def test_a_partition_that_left_and_came_back_is_measured_anew(look: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [1000.0]
    monkeypatch.setattr("pelton.partition_view.time.monotonic", lambda: clock_s[0])
    one = look(manual=True)
    one.lag.ends = {("in", 0): 100}
    one.walk.consumer.give(("in", 0))
    one.walk.write(*range(20))
    one.walk.walk()
    one.watch.status()
    one.walk.consumer.revoke(("in", 0))
    one.walk.walk()
    one.walk.consumer.give(("in", 0))
    one.walk.walk()
    clock_s[0] += 10
    (found,) = one.watch.status().partitions
    assert (found.position, found.drain_s) == (None, None)


def test_lag_of_partitions_that_have_left_is_not_exposed_any_more(look: MAKE) -> None:
    one = look(manual=True)
    one.walk.consumer.give(("in", 0), ("in", 1))
    one.walk.walk()
    assert set(lags(one)) == {0, 1}
    one.walk.consumer.revoke(("in", 0))
    one.walk.walk()
    assert set(lags(one)) == {1}
    assert set(exposed_lags(one)) == {"1"}


def test_commits_that_the_group_refuses_are_counted_once_each(look: MAKE) -> None:
    one = look()
    one.walk.write(1)
    one.walk.walk()
    one.walk.kafka.refuse_commit = lambda _: KafkaError(KafkaError.ILLEGAL_GENERATION, "Broker: not this generation")
    for count in (1, 2):
        one.walk.loop.commit()
        one.walk.walk()
        assert f"pelton_commits_refused_total {count}.0" in one.watch.metrics().splitlines()
    assert "pelton_commits_refused_total 2.0" in one.watch.metrics().splitlines()


def test_metrics_show_what_waits_and_what_is_on_its_way(look: MAKE) -> None:
    one = look(batch={"max_wait_ms": 60_000, "max_size": 2})
    one.walk.write(1, 2, 3)
    one.walk.kafka.reachable = False
    one.walk.walk()
    text = one.watch.metrics().splitlines()
    assert 'pelton_queue_records{lane="stream"} 1.0' in text
    assert 'pelton_queue_bytes{lane="stream"} 8.0' in text
    assert 'pelton_in_flight_deliveries{lane="stream"} 2.0' in text
    assert 'pelton_queue_records{lane="requests"} 0.0' in text
    assert "pelton_batch_ceiling_records 2.0" in text


def test_a_worker_whose_only_topic_is_gone_is_not_ready(look: MAKE) -> None:
    seen = look()
    seen.walk.loop.source.joined = True
    seen.walk.loop.source.problems["in"] = "unknown topic"
    seen.watch.status()
    assert seen.told[-1] == ("joining", "in: unknown topic")


def test_a_partition_that_cannot_be_read_for_want_of_an_offset_blocks(look: MAKE) -> None:
    seen = look()
    source = seen.walk.loop.source
    source.joined = True
    source.assignment.assign([("in", 0)])
    seen.watch.status()
    source.unreadable["in", 0] = "no offset, and reset says error"
    seen.watch.status()
    assert seen.told[-2:] == [("ready", ""), ("blocked", "in/0: no offset, and reset says error")]


def test_a_worker_that_answers_requests_is_ready_in_both_groups_and_shows_both(look: MAKE, desk: MAKE) -> None:
    worker, answering = look(manual=True), desk(manual=True, join=False)
    lag = StatedLag()
    lag.ends = {("asked", 1): 7}
    roads = {worker.walk.loop: worker.lag, answering.desk: lag}
    worker.watch = Watch(roads, worker.reporter, identity=IDENTITY, health=Health())
    answering.desk.source.join(Handover(answering.desk, worker.watch.joined, worker.watch.moving))
    worker.join()
    worker.walk.consumer.give(("in", 0))
    worker.walk.walk()
    worker.watch.status()
    assert worker.told == [("joining", "")]
    for _ in range(3):
        answering.ask(1, at=1)
    answering.consumer.give(("asked", 1))
    answering.turn()
    answering.desk.source._look_up_positions()
    assert worker.told[-1] == ("ready", "")
    found = worker.watch.status().partitions
    assert [(at.topic, at.partition, at.position, at.lag) for at in found if at.topic == "asked"] == [
        ("asked", 1, 3, 7 - 3 + 3)
    ]
    assert [at.partition for at in found if at.topic == "in"] == [0]
    assert 'pelton_lag_records{partition="1",topic="asked"} 7.0' in answering.metrics.exposition()
    assert 'pelton_queue_records{lane="requests"} 1.0' in worker.watch.metrics()
