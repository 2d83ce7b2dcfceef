"""The road with transactions: what a reader sees and what the group has committed are one."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton import handover as handover_file
from pelton.consumers import source as source_file
from pelton.loop import Totals
from pelton.relay import Relay

MAKE = Callable[..., Any]
LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)
LOST = KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True)
FIRST = ("in", 0)


@pytest.fixture
def exact(road: MAKE) -> MAKE:
    """`exact(…)` makes a road that delivers exactly once."""
    return lambda *package, **options: road(*package, delivery="exactly-once", **options)


def note(walk: Any, partition: int = 0) -> str:
    return walk.kafka.committed("g", ("in", partition)).metadata or ""


def test_scores_dead_letters_and_offsets_come_at_once_and_are_then_known_to_be_committed(exact: MAKE) -> None:
    walk = exact()
    walk.write(1, b"not json", None, 4)
    walk.write(5, partition=3)
    walk.walk(3)
    assert (walk.scores, walk.dead, walk.committed() or 0, walk.loop.totals.scored) == ({}, [], 0, 0)
    walk.commit()
    assert walk.scores == {0: [(0, 2.0), (3, 8.0)], 3: [(0, 10.0)]}
    assert walk.dead == [(0, 1, "malformed")]
    assert [walk.committed(n) for n in (0, 3)] == [4, 1]
    assert walk.loop.totals == Totals(records=5, scored=3, dead_letters=1)
    assert walk.loop.offsets.committable() == {}
    assert walk.loop.offsets.committed_in(FIRST) == 4
    assert walk.loop.progress.oldest_unfinished_s == 0


def test_offsets_are_committed_by_transactions_alone_also_after_a_refusal(exact: MAKE) -> None:
    """A commit of its own could come after a later one of a transaction, and set the group back."""
    walk = exact()
    walk.write(1, 2)
    walk.walk()
    walk.commit()
    n_commits = len(walk.kafka.commits)
    walk.loop.source.commits.n_refused += 1
    walk.commit()
    walk.walk(3)
    assert len(walk.kafka.commits) == n_commits


def test_b03_the_mark_goes_with_the_offsets_until_it_is_passed(exact: MAKE) -> None:
    walk = exact(batch={"max_size": 2})
    walk.write(1, 2, 3, 4)
    walk.loop.turn(0)
    assert (walk.committed(), note(walk)) == (0, "pelton:starts=1;until=4;trial=0")
    for position, mark in ((2, "pelton:starts=1;until=4;trial=0"), (4, "")):
        walk.loop.score(walk.loop.batcher.take())
        walk.commit()
        assert (walk.committed(), note(walk)) == (position, mark)


def test_b03_marks_that_are_taken_back_never_set_the_committed_offsets_back(exact: MAKE) -> None:
    """The blocks were committed in another thread, and the poll thread has not heard of it yet."""
    walk = exact(batch={"max_size": 2})
    walk.write(1, 2, 3, 4)
    walk.loop.turn(0)
    walk.loop.score(walk.loop.batcher.take())
    assert walk.loop.sink.flush(handover_file.Deadline.after(5))
    assert walk.committed() == 2
    Relay(walk.loop)._walkers[0].acquit()
    assert (walk.committed(), note(walk)) == (2, "")


@pytest.mark.parametrize("way", ["acquit", "revoke", "drain"])
def test_b03_a_mark_stays_where_a_transaction_may_still_commit(
    exact: MAKE, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The commit was asked for and not answered: it happens in the end, and nothing may come after its offsets."""
    monkeypatch.setattr(handover_file, "REVOKE_BUDGET_S", 0.02)
    walk = exact(manual=True, batch={"max_size": 2})
    walk.write(1, 2, 3, 4)
    walk.consumer.give(FIRST)
    walk.loop.turn(0)
    walk.loop.score(walk.loop.batcher.take())
    walk.kafka.coordinator.fail("commit_transaction", *[LATE] * 1000)
    walk.loop.sink.commit(handover_file.Deadline.after(0.01))
    n_commits = len(walk.kafka.commits)
    if way == "acquit":
        Relay(walk.loop)._walkers[0].acquit()
    elif way == "revoke":
        walk.consumer.revoke(FIRST)
        walk.loop.turn(0)
    else:
        relay = Relay(walk.loop)
        relay._walkers[0].start()
        assert not relay.drain(handover_file.Deadline.after(0.05))
    assert len(walk.kafka.commits) == n_commits
    walk.kafka.coordinator._failing.clear()
    walk.kafka.producers[0].commit_transaction(1)
    assert (walk.committed(), walk.scores) == (2, {0: [(0, 2.0), (1, 4.0)]})


def test_b07_a_revoke_commits_what_is_finished_and_the_next_owner_does_the_rest(exact: MAKE) -> None:
    walk = exact(manual=True, batch={"max_size": 2})
    walk.write(1, 2, 3, 4)
    walk.consumer.give(FIRST)
    walk.loop.turn(0)
    walk.loop.score(walk.loop.batcher.take())
    walk.consumer.revoke(FIRST)
    walk.loop.turn(0)
    assert (walk.committed(), walk.scores) == (2, {0: [(0, 2.0), (1, 4.0)]})
    other = exact(beside=walk)
    other.consumer.give(FIRST)
    other.walk()
    other.commit()
    assert (walk.committed(), walk.scores) == (4, {0: [(n, 2.0 * n + 2) for n in range(4)]})


def test_b07_a_revoke_waits_for_the_commit_in_another_thread(exact: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = exact(manual=True)
    walk.write(1, 2)
    walk.consumer.give(FIRST)
    walk.walk()
    asked, answer = threading.Event(), threading.Event()
    commit = walk.kafka.producers[0].commit_transaction

    def slow(timeout: float) -> None:
        asked.set()
        assert answer.wait(20)
        commit(timeout)

    monkeypatch.setattr(walk.kafka.producers[0], "commit_transaction", slow)
    committing = threading.Thread(target=walk.loop.sink.commit, args=(handover_file.Deadline.after(20),), daemon=True)
    committing.start()
    assert asked.wait(20)
    owned: list[Any] = []

    def revoke() -> None:
        walk.consumer.revoke(FIRST)
        walk.loop.turn(0)
        owned.append((walk.committed(), walk.loop.source.assignment.partitions))

    revoking = threading.Thread(target=revoke, daemon=True)
    revoking.start()
    while walk.loop.metrics.rebalances.labels("revoked")._value.get() < 1:
        assert revoking.is_alive()
    assert walk.loop.source.assignment.partitions == [FIRST], "still ours while the commit is unanswered"
    answer.set()
    revoking.join(20)
    committing.join(20)
    assert owned == [(2, [])]


def test_b07_a_revoke_ends_in_its_budget_and_what_it_left_is_aborted(
    exact: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover_file, "REVOKE_BUDGET_S", 0.02)
    walk = exact(manual=True)
    walk.write(1, 2)
    walk.consumer.give(FIRST)
    walk.walk()
    walk.kafka.coordinator.fail("send_offsets_to_transaction", *[LATE] * 1000)
    walk.consumer.revoke(FIRST)
    walk.loop.turn(0)
    walk.kafka.coordinator._failing.clear()
    walk.commit()
    assert (walk.scores, walk.committed() or 0, walk.loop.sink.in_flight) == ({}, 0, 0)
    assert walk.loop.source.assignment.partitions == []


def test_b20_what_a_member_had_in_hand_when_it_was_given_up_is_never_seen(exact: MAKE) -> None:
    walk = exact(manual=True)
    walk.write(1, 2)
    walk.consumer.give(FIRST)
    walk.walk()
    other = exact(beside=walk, transactional_id="u")
    other.consumer.give(FIRST)
    for _ in range(4):
        other.walk()
        other.commit()
    walk.loop.sink.commit(handover_file.Deadline.after(0.02))
    walk.consumer.lose(FIRST)
    walk.walk()
    assert (walk.scores, walk.committed()) == ({0: [(0, 2.0), (1, 4.0)]}, 2)


def test_b19_b20_after_a_refusal_by_the_group_the_work_is_committed_once_the_member_is_told(
    exact: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = exact(manual=True)
    walk.write(1, 2)
    walk.consumer.give(FIRST)
    walk.walk()
    walk.kafka.groups.move("g")
    walk.commit()
    walk.commit()
    assert (walk.scores, walk.committed() or 0, walk.model.batches) == ({}, 0, [2])
    monkeypatch.setattr(source_file, "POSITIONS_EVERY_S", 0.0)
    walk.loop.source._positions_due = handover_file.Deadline.after(0)
    walk.walk()
    walk.commit()
    walk.commit()
    assert (walk.scores, walk.committed(), walk.model.batches) == ({0: [(0, 2.0), (1, 4.0)]}, 2, [2])


@pytest.mark.parametrize("happened", [True, False])
def test_b21_a_doubt_is_resolved_by_what_the_group_has_committed(exact: MAKE, happened: bool) -> None:
    walk = exact()
    walk.write(1, 2)
    walk.walk()
    (walk.kafka.coordinator.lose if happened else walk.kafka.coordinator.fail)("commit_transaction", LOST)
    for _ in range(3):
        walk.commit()
    assert (walk.scores, walk.committed(), walk.model.batches) == ({0: [(0, 2.0), (1, 4.0)]}, 2, [2])
    ends = {kind: walk.loop.metrics.transactions.labels(kind)._value.get() for kind in ("committed", "lost")}
    assert ends == {"committed": 0.0 if happened else 1.0, "lost": 1.0}


def test_b07_a_worker_that_comes_back_ends_what_it_left_open_and_does_it_again(exact: MAKE) -> None:
    walk = exact()
    walk.write(1, 2)
    walk.walk()
    walk.commit()
    walk.write(3, 4)
    walk.walk()
    walk.kafka.producers[0].flush()
    again = exact(beside=walk)
    again.walk()
    again.commit()
    assert (walk.scores, walk.committed()) == ({0: [(n, 2.0 * n + 2) for n in range(4)]}, 4)
    assert again.model.batches == [2]
