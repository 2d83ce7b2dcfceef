"""Requests, repeats, cancels, rebalances and hold-ups in any order: everybody is answered, and rightly."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

MAKE = Callable[..., Any]
GENERATION = KafkaError(KafkaError.ILLEGAL_GENERATION, "Broker: Specified group generation id is not valid")
PARTITIONS = [("asked", 0), ("asked", 1)]


class Chaos:
    """One desk, and one step after the other of what may happen to it."""

    def __init__(self, road: Any, seed: int) -> None:
        self.road, self.rng = road, random.Random(seed)
        self.owned: set[tuple[str, int]] = set()
        self.asked: dict[str, tuple[Any, int]] = {}
        self.right: dict[str, set[tuple[str, Any]]] = {}

    def ask(self) -> None:
        name = f"{len(self.asked)}"
        value, at = self.rng.choice([self.rng.randrange(1000), b"not json"]), self.rng.randrange(2)
        self.asked[name] = (value, at)
        self.right[name] = {("malformed", None) if isinstance(value, bytes) else ("ok", 2.0 * value)}
        self.again(name)

    def again(self, name: str | None = None) -> None:
        if self.asked:
            name = name or self.rng.choice(list(self.asked))
            value, at = self.asked[name]
            self.road.ask(value, name, at=at, to=at)

    def cancel(self) -> None:
        if self.asked:
            name = self.rng.choice(list(self.asked))
            self.right[name].add(("cancelled", None))
            at = self.asked[name][1]
            self.road.cancel(name, at=at, to=at)

    def move(self) -> None:
        at = self.rng.choice(PARTITIONS)
        if at in self.owned:
            self.rng.choice([self.road.consumer.revoke, self.road.consumer.lose])(at)
        else:
            self.road.consumer.give(at)
        self.owned ^= {at}
        self.road.turn()

    def turn(self) -> None:
        self.road.turn()

    def score(self) -> None:
        if batch := self.road.desk.batcher.take():
            self.road.desk.score(batch)

    def leave_in_the_model(self) -> None:
        """Let a batch be taken, and things happen, before it is scored."""
        if batch := self.road.desk.batcher.take():
            for _ in range(self.rng.randrange(3)):
                self.rng.choice([self.turn, self.ask, self.cancel, self.move])()
            self.road.desk.score(batch)

    def stall(self) -> None:
        self.road.kafka.stalled = self.rng.choice([set(), {("answers", 0)}, {("answers", 0), ("answers", 1)}])

    def refuse(self) -> None:
        refused = self.rng.choice([None, GENERATION])
        self.road.kafka.refuse_commit = lambda _: refused

    def go_on(self, steps: int) -> None:
        """Take so many steps, then let everything work again until nothing is left to do."""
        likely = [self.ask] * 4 + [self.turn] * 3 + [self.score] * 3
        for _ in range(steps):
            rare = [self.again, self.cancel, self.move, self.leave_in_the_model, self.stall, self.refuse]
            self.rng.choice(likely + rare)()
        self.road.kafka.stalled, self.road.kafka.refuse_commit = set(), lambda _: None
        self.road.consumer.give(*(at for at in PARTITIONS if at not in self.owned))
        for _ in range(500):
            self.road.walk()
            self.road.commit()
            if all((self.road.committed(n) or 0) == self.road.kafka.end(topic, n) for topic, n in PARTITIONS):
                return


@pytest.mark.parametrize("seed", range(12))
def test_b07_b19_everybody_is_answered_rightly_and_all_is_committed_in_the_end(
    desk: MAKE, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("pelton.handover.REVOKE_BUDGET_S", 0.0)
    monkeypatch.setattr("pelton.commits.COMMIT_EVERY_S", 0.0)
    # A mark that could not be taken back is a suspicion, which trials have to clear.
    monkeypatch.setattr("pelton.consumers.trials.RETRY_S", 0.0)
    # A loss leaves its mark as a death does; nothing dies here, so nothing is to be condemned.
    chaos = Chaos(desk(manual=True, batch={"max_size": 4}, poison_starts=1000), seed)
    chaos.go_on(150)
    road = chaos.road
    found = [(name, (code, told if code == "ok" else None)) for name, code, told in road.answers()]
    assert {name for name, _ in found} == set(chaos.asked)
    assert [(name, answer) for name, answer in found if answer not in chaos.right[name]] == []
    assert [road.committed(n) or 0 for n in (0, 1)] == [road.kafka.end("asked", n) for n in (0, 1)]
    assert (road.desk.sink.in_flight, road.desk.batcher.n_records, road.desk._open) == (0, 0, {})
    assert road.desk._repeats._pending == {}
