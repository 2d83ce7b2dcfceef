"""What a worker tells of itself that answers requests and scores no stream."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.consumers.lag import Behind
from pelton.handover import Handover
from pelton.reports import Reporter, StatusReport
from pelton.schemas.settings_groups import Health
from pelton.states import WorkerState
from pelton.watch import Watch

from .desk_road import DeskRoad
from .states_told import states_told

MAKE = Callable[..., Any]
IDENTITY = StatusReport(model="doubler", version="1@abc", device="cpu", startup_s=1.5)


class NoLag:
    """A broker without anything to read."""

    def behind(self, stands: Any, _timeout_s: float) -> dict[Any, Behind]:
        return dict.fromkeys(stands, Behind(0, 0, 0))


class Look:
    """A watch over a desk alone, and the states that it told in turn."""

    def __init__(self, asked: DeskRoad, reporter: Reporter) -> None:
        self.asked, self._reporter = asked, reporter
        self.told = states_told(reporter)
        self.watch = Watch({asked.desk: NoLag()}, reporter, identity=IDENTITY, health=Health())  # type: ignore[dict-item]
        asked.desk.source.join(Handover(asked.desk, self.watch.joined, self.watch.moving))

    def judge(self) -> StatusReport:
        """Look now, and ask the broker."""
        self.watch._reach_due = type(self.watch._reach_due).after(0)
        return self.watch.status()


@pytest.fixture
def look(desk: MAKE) -> Iterator[Callable[..., Look]]:
    """`look(**settings)` makes a worker that is just about to join its group."""
    read_fd, write_fd = os.pipe()
    reporter = Reporter(write_fd, on_lost=lambda: None)
    for state in (WorkerState.LOADING, WorkerState.WARMING, WorkerState.JOINING):
        reporter.state(state)
    yield lambda **settings: Look(desk(join=False, **settings), reporter)
    reporter.close()
    os.close(read_fd)


def test_it_is_ready_once_its_only_group_is_joined(look: MAKE) -> None:
    one = look(manual=True)
    one.judge()
    one.asked.consumer.give(("asked", 0))
    one.asked.turn()
    one.judge()
    assert one.told == [("joining", ""), ("ready", "")]


def test_b40_without_its_topic_it_is_joining_and_names_it(look: MAKE) -> None:
    one = look(manual=True)
    one.asked.consumer.fail(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic"), "asked")
    one.asked.consumer.give()
    one.asked.turn()
    one.judge()
    assert one.told[-1] == ("joining", "asked: Broker: Unknown topic")


def test_a_broker_that_is_away_blocks_it_until_it_is_back(look: MAKE) -> None:
    one = look()
    one.asked.turn()
    one.judge()
    one.asked.kafka.reachable = False
    assert one.judge().sink_reason == "answers cannot leave: Local: Broker transport failure"
    one.asked.kafka.reachable = True
    one.judge()
    assert one.told == [
        ("ready", ""),
        ("blocked", "answers cannot leave: Local: Broker transport failure"),
        ("ready", ""),
    ]


def test_answers_that_cannot_leave_for_long_block_it(look: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    one = look()
    one.asked.turn()
    one.judge()
    waits = [10.0, 10.5, 0.0]
    monkeypatch.setattr(one.asked.desk.sink, "waiting_s", lambda: waits.pop(0))
    reports = [one.watch.status() for _ in range(3)]
    assert [state for state, _ in one.told] == ["ready", "blocked", "ready"]
    assert [report.sink_failing_s for report in reports] == [0.0, 10.5, 0.0]


def test_its_status_counts_answers_and_its_metrics_what_is_on_its_way(look: MAKE) -> None:
    one = look()
    one.asked.ask(1, "a")
    one.asked.ask([2, 3], "b")
    one.asked.turn()
    one.asked.kafka.reachable = False
    one.asked.score()
    assert 'pelton_in_flight_deliveries{lane="requests"} 2.0' in one.watch.metrics().splitlines()
    told = one.watch.status()
    assert (told.answered, told.in_flight) == (0, 2)
    one.asked.kafka.reachable = True
    one.asked.walk()
    told = one.watch.status()
    assert (told.model, told.version, told.answered, told.in_flight) == ("doubler", "1@abc", 2, 0)
    assert (told.records, told.scored, told.dead_letters) == (0, 0, 0)


def test_answers_that_the_broker_refuses_are_told_until_one_is_delivered(look: MAKE) -> None:
    one = look()
    refusal = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "no replicas")
    one.asked.kafka.refuse = lambda _: refusal
    one.asked.ask(1, "a")
    one.asked.walk()
    told = one.watch.status()
    assert (told.sink_attempts, told.sink_reason, told.answered) == (1, "no replicas", 0)
    one.asked.kafka.refuse = lambda _: None
    one.asked.ask(2, "b")
    one.asked.walk()
    told = one.watch.status()
    assert (told.sink_attempts, told.sink_reason, told.answered) == (0, "", 1)
