"""The worker's three threads with transactions: walker, stand-in and committer, while the group and the broker act."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.committer import Committer
from pelton.consumers import source as source_file
from pelton.deadline import Deadline
from pelton.errors import Fenced

from .relay_run import Run

MAKE = Callable[..., Any]
ABORTABLE = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", txn_requires_abort=True)
MOVING = KafkaError(KafkaError.NOT_COORDINATOR, "moving", retriable=True)
LOST = KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True)
N = 60


@pytest.fixture(autouse=True)
def positions_at_once(monkeypatch: pytest.MonkeyPatch, short_waits: None) -> None:
    monkeypatch.setattr(source_file, "POSITIONS_EVERY_S", 0.0)


class ExactRun(Run):
    """The same with the thread that commits transactions."""

    def __init__(self, walk: Any) -> None:
        super().__init__(walk)
        self.committer = Committer(walk.loop.sink, walk.loop.metrics)
        self.committer.start()

    def end(self) -> None:
        """Stop, and drain unless something has ended the run already."""
        super().end()
        if self.error is None and not self.walk.consumer.closed:
            self.relay.drain(Deadline.after(5.0))
        self.walk.loop.sink.closed = True
        self.walk.loop.sink.written.set()
        self.committer._thread.join(20)
        assert not self.committer._thread.is_alive()


@pytest.fixture
def run() -> Iterator[Callable[[Any], Run]]:
    """`run(walk)` lets a worker run until the end of the test."""
    made: list[Run] = []

    def start(walk: Any) -> Run:
        made.append(ExactRun(walk))
        return made[-1]

    yield start
    for each in made:
        each.end()


def scored_once(walk: Any, n: int) -> dict[int, list[tuple[int, float]]]:
    return {partition: [(offset, 2.0 * offset) for offset in range(n)] for partition in (0, 1)}


@pytest.mark.parametrize("seed", range(3))
def test_b07_b20_b21_rebalances_and_errors_beside_running_threads_cost_no_record_and_double_none(
    road: MAKE, run: Callable[[Any], Run], seed: int
) -> None:
    rng = random.Random(seed)
    walk = road(manual=True, delivery="exactly-once", batch={"max_size": 4})
    walk.consumer.give(("in", 0), ("in", 1))
    running = run(walk)
    for offset in range(N):
        for partition in (0, 1):
            walk.write(offset, partition=partition)
        if offset % 10 == 5:
            partition = rng.randrange(2)
            running.await_that(lambda n=1 + offset // 10: walk.joined == n)
            (walk.consumer.lose if rng.random() < 0.5 else walk.consumer.revoke)(("in", partition))
            walk.consumer.give(("in", partition), after=2)
        if offset % 10 == 9:
            call = rng.choice(("send_offsets_to_transaction", "commit_transaction"))
            error = rng.choice((ABORTABLE, MOVING, LOST))
            (walk.kafka.coordinator.lose if rng.random() < 0.5 else walk.kafka.coordinator.fail)(call, error)
            running.await_that(lambda done=offset // 2: min(walk.committed(n) or 0 for n in (0, 1)) >= done)
    running.await_that(lambda: all(walk.committed(n) == N for n in (0, 1)))
    assert running.error is None
    assert walk.scores == scored_once(walk, N)


def test_b60_a_fence_ends_the_run_and_no_commit_follows(road: MAKE, run: Callable[[Any], Run]) -> None:
    walk = road(delivery="exactly-once")
    running = run(walk)
    walk.write(1)
    running.await_that(lambda: walk.committed() == 1)
    walk.kafka.producer({"transactional.id": "t"}).init_transactions(1)
    walk.write(2)
    running.await_that(lambda: running.error is not None)
    assert isinstance(running.error, Fenced)
    assert (walk.scores, walk.committed()) == ({0: [(0, 2.0)]}, 1)


def test_b10_a_drain_commits_what_is_scored_and_leaves_nothing_open(road: MAKE, run: Callable[[Any], Run]) -> None:
    walk = road(delivery="exactly-once", batch={"max_size": 8})
    walk.write(*range(30))
    running = run(walk)
    running.await_that(lambda: (walk.committed() or 0) > 0)
    running.end()
    n = walk.committed()
    assert walk.scores == {0: [(offset, 2.0 * offset) for offset in range(n)]}
    assert walk.consumer.closed
    assert not walk.kafka.coordinator.pending("g", ("in", 0))
