"""The verdict on the lag of a worker's own road, second by second on a clock of the test's own."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import Behind
from pelton.consumers.offsets import Reached
from pelton.errors import BrokerUnavailable
from pelton.handover import Handover
from pelton.partition_status import LagStatus
from pelton.reports import Reporter, StatusReport
from pelton.schemas.settings_groups import Health
from pelton.states import WorkerState
from pelton.watch import Watch

MAKE = Callable[..., Any]
ROAD = 2
"""Partitions of which the tests make something."""


class Ends:
    """Lag up to what was written into Kafka in memory."""

    def __init__(self, kafka: Any) -> None:
        self._kafka, self.answers = kafka, True

    def behind(self, stands: dict[Partition, Reached], _timeout_s: float) -> dict[Partition, Behind]:
        if not self.answers:
            raise BrokerUnavailable("no answer")
        ends = {at: self._kafka.end(*at) for at in stands}
        return {at: Behind(ends[at] - (stand.offset or 0), stand.offset or 0, ends[at]) for at, stand in stands.items()}


class Watched:
    """A worker of two partitions that is looked at each second."""

    def __init__(self, walk: Any, reporter: Reporter, clock_s: list[float]) -> None:
        self.walk, self.clock_s, self.lag = walk, clock_s, Ends(walk.kafka)
        identity = StatusReport(model="doubler")
        self.watch = Watch({walk.loop: self.lag}, reporter, identity=identity, health=Health())  # type: ignore[dict-item]
        walk.loop.source.join(Handover(walk.loop, self.watch.joined, self.watch.moving))
        self.held(*range(ROAD))
        self.seen: list[LagStatus] = []

    def held(self, *numbers: int) -> None:
        """Let the group give partitions."""
        self.walk.consumer.give(*(("in", number) for number in numbers))
        self.walk.walk()

    def seconds(self, n: int, *, write: int = 0, walk: bool = True) -> list[str]:
        """Let seconds pass, in which records are written to each partition; return the verdicts in turn, each once."""
        verdicts: list[str] = []
        for _ in range(n):
            self.clock_s[0] += 1
            for number in range(ROAD):
                self.walk.write(*range(write), partition=number)
            if walk:
                self.walk.walk()
            told = self.watch.status()
            self.seen.append(told.lag)
            self.by_partition = {at.partition: at.verdict.value for at in told.partitions}
            verdicts += [told.lag.verdict.value] if verdicts[-1:] != [told.lag.verdict.value] else []
        return verdicts

    @property
    def unready(self) -> str:
        return self.seen[-1].unready


@pytest.fixture
def watched(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Watched]]:
    """`watched(**settings)` makes a worker that has just joined."""
    clock_s = [1000.0]
    for module in ("partition_view", "watch", "loop", "deadline"):
        monkeypatch.setattr(f"pelton.{module}.time.monotonic", lambda: clock_s[0])
    monkeypatch.setattr("pelton.consumers.source.POSITIONS_EVERY_S", 0.0)
    read_fd, write_fd = os.pipe()
    reporters = []

    def make(**settings: Any) -> Watched:
        reporters.append(Reporter(write_fd, on_lost=lambda: None))
        for state in (WorkerState.LOADING, WorkerState.WARMING, WorkerState.JOINING):
            reporters[-1].state(state)
        return Watched(road(manual=True, join=False, **settings), reporters[-1], clock_s)

    yield make
    for reporter in reporters:
        reporter.close()
    os.close(read_fd)


def test_an_idle_worker_and_one_that_keeps_up_are_fine(watched: MAKE) -> None:
    one = watched()
    assert one.seconds(200) == ["ok"]
    assert one.seconds(200, write=3) == ["ok"]
    assert {told.unready for told in one.seen} == {""}
    assert one.by_partition == {0: "ok", 1: "ok"}


def test_b05_one_partition_that_brings_nothing_while_the_others_flow_is_a_stall(watched: MAKE) -> None:
    one = watched()
    one.seconds(5, write=2)
    one.walk.consumer.paused = {("in", 1)}
    assert one.seconds(200, write=2) == ["ok", "stall"]
    assert one.by_partition == {0: "ok", 1: "stall"}
    assert one.unready.startswith("stall: in/1: none of 400 records was finished in 60 s")
    # A window after the last moment without lag, and ten seconds more.
    failing = [told.unready != "" for told in one.seen[5:]]
    assert failing.index(True) in range(70, 74)
    text = one.watch.metrics()
    assert 'pelton_partition_verdict{partition="1",topic="in",verdict="stall"} 1.0' in text
    assert 'pelton_partition_verdict{partition="0",topic="in",verdict="stall"} 0.0' in text
    one.walk.consumer.paused = set()
    assert one.seconds(29, write=2) == ["ok"]
    assert one.unready
    one.seconds(3, write=2)
    assert not one.unready


def test_b05_a_batch_in_the_model_is_no_stall_until_it_is_too_old(watched: MAKE) -> None:
    one = watched()
    one.seconds(5, write=2)
    for number in range(ROAD):
        one.walk.write(1, partition=number)
    one.walk.loop.turn(0)
    one.walk.loop.progress.batch_started_s = one.clock_s[0]

    def in_model(n: int) -> list[str]:
        found = []
        for _ in range(n):
            one.walk.loop.turn(0)
            found += one.seconds(1, walk=False)
        return found

    one.walk.loop.batcher.take()
    assert set(in_model(299)) == {"ok"}
    assert in_model(3)[-1] == "stall"


def test_a_lag_that_grows_while_records_are_finished_warns_and_leaves_it_ready(watched: MAKE) -> None:
    one = watched()
    one.seconds(2)
    real = one.walk.kafka.end
    written = [0]

    def more(topic: str, number: int) -> int:
        written[0] += 5
        return int(real(topic, number)) + written[0]

    one.walk.kafka.end = more
    assert one.seconds(200, write=2) == ["ok", "warn"]
    assert {told.unready for told in one.seen} == {""}


def test_a_broker_that_is_away_is_unknown_and_no_stall_when_it_is_back(watched: MAKE) -> None:
    one = watched()
    one.walk.consumer.paused = {("in", 1)}
    one.walk.write(1, 2, partition=1)
    one.seconds(30)
    one.lag.answers = False
    assert one.seconds(100) == ["ok", "unknown"]
    one.lag.answers = True
    assert one.seconds(60) == ["ok"]
    assert one.seconds(2) == ["stall"]
    assert {told.unready for told in one.seen} == {""}


def test_b17_partitions_that_move_begin_anew_and_without_any_it_is_ready(watched: MAKE) -> None:
    one = watched()
    one.walk.consumer.paused = {("in", 1)}
    assert one.seconds(80, write=1) == ["ok", "stall"]
    assert one.unready
    one.walk.consumer.revoke(("in", 0), ("in", 1))
    one.walk.walk()
    assert one.seconds(1) == ["ok"]
    assert not one.unready
    one.held(0, 1)
    one.walk.consumer.paused = {("in", 1)}
    assert one.seconds(60, write=1) == ["ok"]
    assert one.seconds(20, write=1) == ["stall"]
    one.walk.consumer.revoke(("in", 0), ("in", 1))
    one.walk.walk()
    one.seconds(1)
    assert "pelton_partition_verdict" not in {
        line.split("{")[0] for line in one.watch.metrics().splitlines() if not line.startswith("#")
    }


def test_b17_while_partitions_move_nobody_is_blamed(watched: MAKE) -> None:
    one = watched()
    one.walk.consumer.paused = {("in", 1)}
    assert one.seconds(70, write=1) == ["ok", "stall"]
    one.walk.consumer.revoke(("in", 0))
    assert one.seconds(20, write=1) == ["ok"]  # and 0 may be anybody's until the group has said more
    one.walk.consumer.give(("in", 0))
    one.walk.consumer.paused = {("in", 1)}
    assert one.seconds(2, write=1)[-1] == "stall"


def test_b05_a_poll_loop_that_is_silent_with_records_left_is_a_stop(watched: MAKE) -> None:
    one = watched()
    one.seconds(20, write=1)
    assert one.seconds(10, write=1, walk=False) == ["ok"]
    assert one.seconds(5, write=1, walk=False) == ["stop"]
    assert one.seconds(6, write=1, walk=False) == ["stop"]
    assert one.unready.startswith("stop: in/0: the poll loop has been silent for")
    assert one.seconds(1) == ["ok"]
