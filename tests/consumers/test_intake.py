"""Back-pressure: the queue is waited for first, then paused, and flows again when half of it is free."""

from collections.abc import Callable
from typing import Any

import pytest

from pelton.consumers.batcher import Batcher
from pelton.consumers.intake import Flow, Intake
from pelton.testing import FakeKafka

MAKE = Callable[..., Any]


class Road:
    """A source, a queue for ten records, and the intake between them."""

    def __init__(self, kafka: FakeKafka, member: MAKE, **limits: Any) -> None:
        self.kafka = kafka
        self.member = member(kafka, max_records=limits.pop("max_records", 5))
        self.batcher = Batcher(**{"max_size": 5, "max_wait_s": 0.0, "max_records": 10, "max_bytes": 10**6, **limits})
        self.intake = Intake(self.member.source, self.batcher)
        self.seen: list[int] = []

    def turn(self) -> list[int]:
        """Once round in the poll thread: offsets that came."""
        came: list[int] = []
        for records in self.intake.next(0):
            self.batcher.put(records)
            came += records.offsets
        self.seen += came
        return came

    def take(self) -> None:
        self.batcher.take()
        self.batcher.done()

    @property
    def paused(self) -> bool:
        return bool(self.member.consumer.paused)


@pytest.fixture
def road(kafka: FakeKafka, member: MAKE, clock: Any) -> Road:
    for n in range(100):
        kafka.write("in", b"%d" % n)
    return Road(kafka, member)


def test_records_flow_while_there_is_room(road: Road) -> None:
    assert road.turn() == [0, 1, 2, 3, 4]
    assert road.turn() == [5, 6, 7, 8, 9]
    assert road.intake.flow is Flow.FLOWING


def test_no_more_is_polled_than_there_is_room_for(kafka: FakeKafka, member: MAKE, clock: Any) -> None:
    """Else what one poll brings beyond the bound takes so long to score that partitions are paused for it."""
    for n in range(100):
        kafka.write("in", b"%d" % n)
    road = Road(kafka, member, max_records=512)
    assert road.turn() == list(range(10))
    road.take()
    assert road.turn() == list(range(10, 15))
    assert (road.intake.flow, road.batcher.filled) == (Flow.FLOWING, 1.0)


def test_a_poll_waits_for_all_that_the_batch_lacks(kafka: FakeKafka, member: MAKE, clock: Any) -> None:
    road = Road(kafka, member)
    kafka.write("in", b"0")
    asked: list[tuple[int, float]] = []
    consume = road.member.consumer.consume

    def noted(num_messages: int, timeout: float) -> list[Any]:
        asked.append((num_messages, timeout))
        return consume(num_messages, timeout)

    road.member.consumer.consume = noted
    road.turn()
    road.turn()
    assert asked == [(5, 0), (5, 0), (4, 0)]


def test_b30_a_full_queue_is_waited_for_before_anything_is_paused(road: Road, clock: Any) -> None:
    """A pause throws away what was fetched ahead."""
    for _ in range(10):
        road.turn()
    assert (road.intake.flow, road.paused, road.seen) == (Flow.WAITING, False, list(range(10)))
    clock.now_s += 0.4
    road.turn()
    assert not road.paused
    road.take()
    assert road.turn() == [10, 11, 12, 13, 14]
    assert (road.intake.flow, road.paused) == (Flow.FLOWING, False)


def test_b30_patience_is_counted_anew_each_time_the_queue_fills(road: Road, clock: Any) -> None:
    for _ in range(3):
        road.turn()
    clock.now_s += 0.4
    road.take()
    for _ in range(3):
        road.turn()
    clock.now_s += 0.4
    road.turn()
    assert not road.paused


def test_b01_b30_a_queue_that_stays_full_is_paused_and_polling_goes_on(road: Road, clock: Any) -> None:
    for _ in range(3):
        road.turn()
    clock.now_s += 0.6
    calls = road.member.consumer.calls
    assert [road.turn() for _ in range(20)] == [[]] * 20
    assert (road.intake.flow, road.paused) == (Flow.PAUSED, True)
    assert road.member.consumer.calls >= calls + 20


def test_b30_paused_partitions_flow_again_when_half_of_the_queue_is_free(road: Road, clock: Any) -> None:
    for _ in range(3):
        road.turn()
    clock.now_s += 0.6
    road.turn()
    assert road.turn() == []
    road.batcher.drop(lambda records: records.offsets[0] == 0)
    assert road.turn() == [10, 11, 12, 13, 14]
    assert (road.intake.flow, road.paused) == (Flow.FLOWING, False)


def test_b30_less_than_half_is_not_enough(kafka: FakeKafka, member: MAKE, clock: Any) -> None:
    for n in range(100):
        kafka.write("in", b"%d" % n)
    road = Road(kafka, member, max_size=4)
    for _ in range(3):
        road.turn()
    clock.now_s += 0.6
    road.turn()
    road.take()
    assert road.batcher.filled == 0.6
    assert road.turn() == []
    assert road.paused


def test_b30_partitions_that_come_while_paused_wait_and_none_stays_silent(
    manual_kafka: FakeKafka, member: MAKE, clock: Any
) -> None:
    for n in range(40):
        manual_kafka.write("in", b"%d" % n, partition=n % 4)
    road = Road(manual_kafka, member)
    give = road.member.consumer.give
    give(("in", 0))
    for _ in range(5):
        road.turn()
    clock.now_s += 0.6
    road.turn()
    give(*(("in", n) for n in range(1, 4)))
    assert [road.turn() for _ in range(5)] == [[]] * 5
    for _ in range(100):
        road.take()
        road.turn()
    assert sorted(road.seen) == sorted(list(range(10)) * 4)


def test_b23_a_queue_that_is_full_by_bytes_holds_back_as_well(kafka: FakeKafka, member: MAKE, clock: Any) -> None:
    for _ in range(20):
        kafka.write("in", b"x" * 1000)
    road = Road(kafka, member, max_bytes=2500, max_records=3)
    for _ in range(10):
        road.turn()
    assert road.batcher.n_bytes == 3000
    assert road.intake.flow is Flow.WAITING


def test_another_bound_that_is_full_is_looked_at_again_and_again_not_all_the_time(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("pelton.consumers.intake.time.sleep", slept.append)
    filled = [1.0]
    intake = Intake(road.member.source, road.batcher, lambda: filled[0])
    assert [intake.next(0.05) for _ in range(3)] == [[], [], []]
    assert (intake.flow, slept) == (Flow.WAITING, [0.01, 0.01, 0.01])
    filled[0] = 0.9
    assert [records.offsets for records in intake.next(0)] == [[0, 1, 2, 3, 4]]
