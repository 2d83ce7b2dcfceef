"""Partitions that come and go: finished work is committed, the rest is left to the next owner."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton import handover as handover_file

MAKE = Callable[..., Any]


def at(n: int) -> tuple[str, int]:
    return ("in", n)


def rebalances(walk: Any) -> dict[str, float]:
    counter = walk.loop.metrics.rebalances
    return {kind: counter.labels(kind)._value.get() for kind in ("assigned", "revoked", "lost")}


def test_joining_is_told_also_by_a_member_without_a_partition(road: MAKE) -> None:
    walk = road(manual=True)
    walk.walk()
    assert walk.joined == 0
    walk.consumer.give()
    walk.walk()
    assert walk.joined == 1
    assert rebalances(walk) == {"assigned": 1.0, "revoked": 0.0, "lost": 0.0}


def test_b07_each_partition_of_a_mixed_batch_is_committed_at_its_own_highest_offset(road: MAKE) -> None:
    walk = road(manual=True)
    for partition, first, n in ((2, 300, 2), (1, 200, 1), (0, 100, 2)):
        walk.write(1, partition=partition, offset=first)
        walk.write(*[2] * (n - 1), partition=partition)
    walk.consumer.give(at(0), at(1), at(2))
    walk.walk()
    walk.consumer.revoke(at(0), at(1), at(2))
    walk.walk()
    assert [walk.committed(n) for n in range(3)] == [102, 201, 302]
    assert rebalances(walk)["revoked"] == 1.0


def test_b07_what_is_only_on_its_way_is_waited_for_and_committed(road: MAKE) -> None:
    walk = road(manual=True)
    walk.write(1, 2, 3)
    walk.consumer.give(at(0))
    walk.loop.turn(0)
    walk.loop.score(walk.loop.batcher.take())
    assert walk.loop.sink.in_flight == 3
    walk.consumer.revoke(at(0))
    walk.loop.turn(0)
    assert (walk.committed(), walk.scores) == (3, {0: [(0, 2.0), (1, 4.0), (2, 6.0)]})


def test_b07_what_only_waits_is_dropped_and_scored_by_the_next_owner_alone(road: MAKE) -> None:
    walk = road(manual=True)
    for partition in (0, 1):
        walk.write(*range(10), partition=partition)
    walk.consumer.give(at(0), at(1))
    walk.loop.turn(0)
    walk.consumer.revoke(at(0))
    walk.loop.turn(0)
    assert walk.loop.batcher.n_records == 10
    walk.walk()
    assert list(walk.scores) == [1]
    walk.consumer.give(at(0))
    walk.walk()
    walk.commit()
    assert walk.scores == {n: [(i, 2.0 * i) for i in range(10)] for n in (0, 1)}
    assert [walk.committed(n) for n in (0, 1)] == [10, 10]


def test_b07_what_waits_of_lost_partitions_is_never_given_to_the_model(road: MAKE) -> None:
    walk = road(manual=True)
    for partition in (0, 1):
        walk.write(*range(10), partition=partition)
    walk.consumer.give(at(0), at(1))
    walk.loop.turn(0)
    walk.consumer.lose(at(0))
    walk.walk()
    assert walk.model.batches == [10]
    assert list(walk.scores) == [1]


def test_b07_results_of_a_batch_whose_partition_left_meanwhile_are_not_written(
    road: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is slow: the stand-in polls, the partition is lost, and only then the scores are there."""
    walk = road(manual=True)
    for partition in (0, 1):
        walk.write(1, 2, partition=partition)
    walk.consumer.give(at(0), at(1))
    walk.loop.turn(0)
    forward = walk.model.forward

    def slow(inputs: Any) -> Any:
        walk.consumer.lose(at(0))
        walk.loop.turn(0)
        return forward(inputs)

    monkeypatch.setattr(walk.model, "forward", slow)
    walk.loop.score(walk.loop.batcher.take())
    monkeypatch.undo()
    walk.walk()
    walk.commit()
    assert walk.scores == {1: [(0, 2.0), (1, 4.0)]}
    assert walk.committed(1) == 2
    assert not walk.committed(0)


def test_b20_results_of_an_earlier_assignment_are_dropped_though_the_partition_is_back(
    road: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = road(manual=True)
    walk.write(1, 2)
    walk.consumer.give(at(0))
    walk.loop.turn(0)
    forward = walk.model.forward

    def slow(inputs: Any) -> Any:
        walk.consumer.lose(at(0))
        walk.loop.turn(0)
        walk.consumer.give(at(0))
        return forward(inputs)

    monkeypatch.setattr(walk.model, "forward", slow)
    walk.loop.score(walk.loop.batcher.take())
    monkeypatch.undo()
    assert walk.loop.sink.in_flight == 0
    walk.walk(5)
    walk.commit()
    assert walk.scores == {0: [(0, 2.0), (1, 4.0)]}
    assert walk.committed() == 2


def test_b07_nothing_is_committed_for_partitions_that_are_lost(road: MAKE) -> None:
    walk = road(manual=True)
    walk.write(1, 2)
    walk.consumer.give(at(0))
    walk.walk()
    n_commits = len(walk.kafka.commits)
    walk.consumer.lose(at(0))
    walk.walk()
    walk.commit()
    assert len(walk.kafka.commits) == n_commits
    assert not walk.committed()
    assert walk.loop.offsets.unfinished_in(at(0)) == 0
    assert rebalances(walk)["lost"] == 1.0


def test_b19_a_commit_that_is_refused_during_the_revoke_does_not_end_the_worker(road: MAKE) -> None:
    walk = road(manual=True)
    for partition in (0, 1):
        walk.write(1, partition=partition)
    walk.consumer.give(at(0), at(1))
    walk.walk()
    refusal = KafkaError(KafkaError.REBALANCE_IN_PROGRESS, "Broker: Group rebalance in progress")
    walk.kafka.refuse_commit = lambda _: refusal
    walk.consumer.revoke(at(0))
    walk.walk()
    walk.kafka.refuse_commit = lambda _: None
    walk.write(2, partition=1)
    walk.walk()
    walk.commit()
    assert walk.committed(1) == 2
    assert not walk.committed(0)


def test_b07_a_revoke_ends_in_its_budget_though_the_sink_is_away(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover_file, "REVOKE_BUDGET_S", 0.05)
    walk = road(manual=True)
    walk.write(1, 2)
    walk.consumer.give(at(0))
    walk.kafka.reachable = False
    walk.walk()
    walk.consumer.revoke(at(0))
    walk.walk()
    assert walk.loop.source.assignment.partitions == []
    assert not walk.committed()
    walk.kafka.reachable = True
    walk.walk()
    walk.commit()
    assert not walk.committed()
    assert walk.loop.progress.oldest_unfinished_s == 0


def test_b07_a_batch_in_the_model_is_waited_for(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = road(manual=True)
    walk.write(1, 2)
    walk.consumer.give(at(0))
    walk.loop.turn(0)
    inside, go_on = threading.Event(), threading.Event()
    forward = walk.model.forward

    def slow(inputs: Any) -> Any:
        inside.set()
        assert go_on.wait(20)
        return forward(inputs)

    monkeypatch.setattr(walk.model, "forward", slow)
    scoring = threading.Thread(target=walk.loop.score, args=(walk.loop.batcher.take(),), daemon=True)
    scoring.start()
    assert inside.wait(20)
    walk.consumer.revoke(at(0))
    wait_for_batch = walk.loop.batcher.wait_for_batch
    monkeypatch.setattr(walk.loop.batcher, "wait_for_batch", lambda s: go_on.set() or wait_for_batch(s))
    walk.loop.turn(0)
    assert walk.committed() == 2
    assert walk.scores == {0: [(0, 2.0), (1, 4.0)]}
    scoring.join(20)


def test_b07_records_polled_just_before_a_revoke_leave_nothing_unfinished(road: MAKE) -> None:
    """They would look like work that never ends, until the supervisor took the worker for stuck."""
    walk = road(manual=True)
    for partition in (0, 1):
        walk.write(1, partition=partition)
    walk.consumer.give(at(0), at(1))
    walk.consumer.revoke(at(0), late=True)
    walk.walk()
    assert walk.loop.progress.oldest_unfinished_s == 0
    assert walk.loop.batcher.n_records == 0
    assert walk.scores == {1: [(0, 2.0)]}
