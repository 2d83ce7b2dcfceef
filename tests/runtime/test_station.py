"""The place before the device: one batch at a time, nothing left lying, and what batches take is learned."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from pelton.consumers.batch import Batch, CloseReason, Lane
from pelton.consumers.batcher import Batcher
from pelton.schemas.records import Records
from pelton.station import BUSY_POLL_S, Station


class Queue:
    """Gives out what it has been given, and says what it is told about when more is due."""

    def __init__(self) -> None:
        self.batches: deque[Batch | None] = deque()
        self.due_s = float("inf")
        self.takes_s = 0.0
        self.closed = False

    def take(self) -> Batch | None:
        return self.batches.popleft() if self.batches else None

    def due_in_s(self) -> float:
        return 0.0 if any(self.batches) else self.due_s

    def close(self) -> None:
        self.closed = True


class Clock:
    now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("pelton.station.time", made)
    return made


def batch(lane: Lane = Lane.STREAM) -> Batch:
    return Batch([], CloseReason.WAIT, 0.0, lane)


def station(queue: Any, score: Callable[[Batch], None]) -> Station:
    return Station(queue, {Lane.STREAM: score, Lane.REQUESTS: score})


def test_each_batch_goes_to_the_road_it_came_by() -> None:
    queue, heard = Queue(), list[tuple[str, Lane]]()
    queue.batches.extend([batch(Lane.REQUESTS), batch(), batch(Lane.REQUESTS)])
    found = Station(
        queue,  # type: ignore[arg-type]
        {
            Lane.STREAM: lambda given: heard.append(("stream", given.lane)),
            Lane.REQUESTS: lambda given: heard.append(("desk", given.lane)),
        },
    )
    assert [found.serve() for _ in range(4)] == [True, True, True, False]
    assert heard == [("desk", Lane.REQUESTS), ("stream", Lane.STREAM), ("desk", Lane.REQUESTS)]


def test_one_batch_at_a_time_and_the_other_thread_goes_on_polling() -> None:
    queue, inside, leave = Queue(), threading.Event(), threading.Event()

    def score(_: Batch) -> None:
        inside.set()
        assert leave.wait(20)

    found = station(queue, score)
    queue.batches.extend([batch(), batch()])
    thread = threading.Thread(target=found.serve)
    thread.start()
    assert inside.wait(20)
    assert (found.serve(), found.at_work) == (False, thread)
    assert (found.idle_s(0.0), found.idle_s(0.25)) == (BUSY_POLL_S, 0.25)
    leave.set()
    thread.join(20)
    assert (found.at_work, len(queue.batches)) == (None, 1)
    assert found.serve() is True


def test_what_was_queued_while_the_device_was_looked_at_is_not_left_lying() -> None:
    """Whoever queued it found the device taken and went away."""
    queue, heard = Queue(), list[Batch]()
    queue.batches.extend([None, batch()])
    assert station(queue, heard.append).serve() is True
    assert len(heard) == 1


def test_b10_a_closed_queue_is_asked_once_however_much_waits_in_it() -> None:
    queue = Batcher(max_size=1, max_wait_s=0.0, max_records=10, max_bytes=10)
    queue.put(Records("in", 0, 1, [None], [0], [0], 1, 0.0))  # type: ignore[list-item]
    found = station(queue, lambda _: None)
    found.close()
    assert found.serve() is False


def test_who_waits_for_records_waits_no_longer_than_until_a_batch_is_due() -> None:
    queue = Queue()
    queue.due_s = 0.25
    found = station(queue, lambda _: None)
    assert (found.serve(), found.idle_s(queue.due_in_s())) == (False, 0.25)


def run(found: Station, queue: Queue, clock: Clock, *times_s: float) -> None:
    for took_s in times_s:
        queue.batches.append(batch())
        clock.now_s += 1.0
        found._score = {Lane.STREAM: lambda _, took_s=took_s: setattr(clock, "now_s", clock.now_s + took_s)}
        assert found.serve() is True


def test_a_batch_is_taken_to_take_as_long_as_the_longest_of_the_last_eight(clock: Clock) -> None:
    queue = Queue()
    found = station(queue, lambda _: None)
    told = []
    for took_s in (0.25, 0.5, *[0.125] * 9):
        run(found, queue, clock, took_s)
        told.append(queue.takes_s)
    assert told == pytest.approx([0.25, *[0.5] * 8, *[0.125] * 2])


def test_a_model_is_slow_once_all_of_the_last_eight_batches_were(clock: Clock) -> None:
    queue = Queue()
    found = station(queue, lambda _: None)
    run(found, queue, clock, 0.001, *[0.05] * 7)
    assert not found.slow.is_set()
    run(found, queue, clock, 0.05)
    assert found.slow.is_set()
    run(found, queue, clock, 0.001)
    assert not found.slow.is_set()


def test_a_batch_that_raises_leaves_the_device_free() -> None:
    queue = Queue()
    queue.batches.append(batch())

    def score(_: Batch) -> None:
        raise RuntimeError("no device")

    found = station(queue, score)
    with pytest.raises(RuntimeError):
        found.serve()
    assert (found.at_work, found.idle_s(0.0)) == (None, 0.0)
    found.close()
    assert queue.closed
