"""A worker's whole road on Kafka in memory, in which something goes wrong at every step, by a seed.

Nothing here looks at what the worker believes: what must hold is read off the topics and the committed offsets.
"""

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError

from pelton.deadline import Deadline
from pelton.errors import KafkaFailure, OutOfMemory
from pelton.relay import Relay
from pelton.testing import FakeKafka
from pelton.walker import Walker

PARTITIONS = (("in", 0), ("in", 1))
Place = tuple[int, int]

LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)
MOVING = KafkaError(KafkaError.NOT_COORDINATOR, "moving", retriable=True)
ABORTABLE = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", txn_requires_abort=True)
GENERATION = KafkaError(KafkaError.ILLEGAL_GENERATION, "moved", txn_requires_abort=True)
LOST = KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True)
GAP = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "gap", fatal=True)
REFUSALS = (
    KafkaError(KafkaError.INVALID_RECORD, "invalid"),
    KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"),
    KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "replicas"),
)
CALLS = {
    "init_transactions": (LATE, MOVING),
    "begin_transaction": (LOST,),
    "send_offsets_to_transaction": (LATE, MOVING, ABORTABLE, GENERATION, LOST),
    "commit_transaction": (LATE, MOVING, ABORTABLE, LOST),
    "abort_transaction": (LATE, MOVING, LOST),
}


class Killed(BaseException):
    """The process is gone, with all that it had in hand."""


class Fault(RuntimeError):
    """Something of ours that raises where nobody expects it."""


STEPS = (
    *("poll", "decode", "prepare", "forward", "finish", "produce", "produce_batch", "poll_reports", "flush", "refuse"),
    *("commit", *CALLS),
)
# What another step's fault leads to: without that one, it would hardly ever come to this.
AFTER = {"init_transactions": "commit_transaction", "abort_transaction": "send_offsets_to_transaction"}
OFTEN, SELDOM = 0.3, 0.004


class Saboteur:
    """Decides by a seed what goes wrong at a step: it raises, takes long, or kills, before or after it is done.

    A few steps are chosen for much of it, so that work still gets as far as these.
    """

    def __init__(self, rng: random.Random, seed: int) -> None:
        self._rng = rng
        self._chosen = {STEPS[(2 * seed) % len(STEPS)], STEPS[(2 * seed + 1) % len(STEPS)], rng.choice(STEPS)}
        self._chosen |= {AFTER[step] for step in self._chosen & AFTER.keys()}
        self.active = False
        self.done: Counter[str] = Counter()
        self.meanwhile: Callable[[], None] = lambda: None
        self._delaying = False

    def strikes(self, step: str) -> bool:
        struck = self.active and self._rng.random() < (OFTEN if step in self._chosen else SELDOM)
        self.done[step] += struck
        return struck

    def wrap(self, target: Any, name: str, step: str) -> None:
        """Let a method fail, be slow, or be the last thing that its process does."""
        own = getattr(target, name)

        def call(*arguments: Any, **named: Any) -> Any:
            fault = self._rng.choice(("raise", "delay", "kill", "kill after")) if self.strikes(step) else None
            if fault == "kill":
                raise Killed
            if fault == "raise":
                raise Fault(step)
            if fault == "delay":
                self._delay()
            answer = own(*arguments, **named)
            if fault == "kill after":
                raise Killed
            return answer

        setattr(target, name, call)

    def wrap_client(self, producer: Any) -> None:
        """Let the calls of a producer go wrong: those of transactions by an error of theirs, or a lost answer."""
        for name in ("produce_batch", "produce", "flush"):
            self._wrap_deadly(producer, name, name, None)
        for name in CALLS if hasattr(producer, "begin_transaction") else ():
            self._wrap_deadly(producer, name, name, lambda name=name: self._ask_for_error(producer, name))
        self._wrap_deadly(producer, "poll", "poll_reports", None)

    def _wrap_deadly(self, producer: Any, name: str, step: str, prepare: Callable[[], None] | None) -> None:
        own = getattr(producer, name)

        def call(*arguments: Any, **named: Any) -> Any:
            fault = (
                self._rng.choice(("raise", "raise", "raise", "raise", "kill", "kill after"))
                if self.strikes(step)
                else None
            )
            if fault == "raise":
                if prepare is not None:
                    prepare()
                elif name in {"flush", "poll"}:
                    producer.break_down(GAP)
            if fault == "kill":
                raise Killed
            answer = own(*arguments, **named)
            if fault == "kill after":
                raise Killed
            return answer

        setattr(producer, name, call)

    def _ask_for_error(self, producer: Any, name: str) -> None:
        error = self._rng.choice(CALLS[name])
        happens = error in {LATE, LOST} and self._rng.random() < 0.5
        coordinator = producer._coordinator
        (coordinator.lose if happens else coordinator.fail)(name, error)

    def _delay(self) -> None:
        if not self._delaying:
            self._delaying = True
            try:
                self.meanwhile()
            finally:
                self._delaying = False


class ChaosKafka(FakeKafka):
    """Kafka in memory whose clients are in a saboteur's hands."""

    def __init__(self, saboteur: Saboteur) -> None:
        super().__init__({"in": 2, "out": 2, "dead": 1}, manual=True)
        self._saboteur = saboteur
        self.patience_s = 0.0
        self.refuse = lambda message: self._refusal(message.topic())
        self.refuse_commit = lambda _: GENERATION if saboteur.strikes("commit") else None

    def producer(self, config: Any, **named: Any) -> Any:
        made = super().producer(config, **named)
        self._saboteur.wrap_client(made)
        return made

    def consumer(self, config: Any, **named: Any) -> Any:
        made = super().consumer(config, **named)
        self._saboteur.wrap(made, "consume", "poll")
        return made

    def _refusal(self, topic: str | None) -> KafkaError | None:
        if topic != "out" or not self._saboteur.strikes("refuse"):
            return None
        return self._saboteur._rng.choice(REFUSALS)


class World:
    """Workers one after the other, the records they are given, and what became of these."""

    def __init__(self, road: Callable[..., Any], seed: int, *, exactly_once: bool) -> None:
        self.rng = random.Random(seed)
        self.exactly_once = exactly_once
        self.saboteur = Saboteur(self.rng, seed)
        self.saboteur.meanwhile = self._meanwhile
        self.kafka = ChaosKafka(self.saboteur)
        self.expected: dict[Place, float | str] = {}
        self.late_s = 0.0
        self.kafka.coordinator.clock = lambda: time.monotonic() + self.late_s
        self._road = road
        self._poison_starts = self.rng.choice((3, 50))
        self._ids = iter(f"id-{n}" for n in range(10**6))
        self._id = next(self._ids)
        self._zombies: list[Any] = []
        self.n_workers = 0
        self.begin()

    def run(self, n_steps: int) -> None:
        """Take random steps, then let all be finished in peace; what must hold is looked at after each."""
        self.saboteur.active = True
        for _ in range(n_steps):
            self._survive(self._step())
            self.check()
        self.saboteur.active = False
        self.finish()

    def begin(self) -> None:
        """Start a worker under the present transactional id, and give it everything."""
        self.n_workers += 1
        with self._quiet():
            self.walk = self._road(
                kafka_of=self,
                delivery="exactly-once" if self.exactly_once else "at-least-once",
                transactional_id=self._id,
                poison_starts=self._poison_starts,
                batch={"max_size": 4},
            )
            self.relay = Relay(self.walk.loop)
            (self.walker,) = self.relay._walkers
            self.saboteur.wrap(self.walk.loop.codec, "decode", "decode")
            for stage in ("prepare", "forward", "finish"):
                self.saboteur.wrap(self.walk.model, stage, stage)
        self.walk.consumer.give(*PARTITIONS)

    def _step(self) -> Callable[[], None]:
        steps: list[tuple[int, Callable[[], None]]] = [
            (25, self.walker._step),
            (20, self._commit),
            (10, self._write),
            (4, lambda: self.walk.loop.turn(0)),
            (2, self._rebalance),
            (3, lambda: self.kafka.groups.move("g")),
            (1, self._grow_old),
            (1, self._freeze),
            (1, self._drain),
            (2, self._thaw),
        ]
        (chosen,) = self.rng.choices([step for _, step in steps], [weight for weight, _ in steps])
        return chosen

    def _survive(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Killed:
            self.begin()
        except Exception as error:  # noqa: BLE001 - whatever ends a worker, another one is started
            with self._quiet():
                if isinstance(error, KafkaFailure | OutOfMemory):
                    self._ignoring(self.walker.acquit)
                    self._release(self.walker)
                self._ignoring(self.relay.leave)
            self.begin()

    def _commit(self) -> None:
        if self.exactly_once:
            self.walk.loop.sink.commit(Deadline.after(self.rng.choice((0.0, 5.0))))
        else:
            self.walk.loop.commit()

    def _write(self) -> None:
        for _ in range(self.rng.randrange(1, 6)):
            partition = self.rng.randrange(2)
            kind = self.rng.random()
            number = float(self.rng.randrange(1000))
            value = b"not json" if kind < 0.1 else None if kind < 0.2 else json.dumps({"x": number}).encode()
            place = partition, self.kafka.write("in", value, partition=partition).offset() or 0
            self.expected[place] = "dead" if kind < 0.1 else "none" if kind < 0.2 else 2 * number

    def _rebalance(self) -> None:
        some = self.rng.sample(PARTITIONS, self.rng.randrange(1, 3))
        consumer, lost = self.walk.consumer, self.rng.random() < 0.3
        told = "_on_lost" if lost else "_on_revoke"

        def take() -> None:
            owned = [each for each in some if each in consumer._next]
            consumer._rebalance(getattr(consumer, told), owned, consumer._unassign, lost=lost)

        def give() -> None:
            new = [each for each in some if each not in consumer._next]
            consumer._rebalance(consumer._on_assign, new, consumer._assign)

        consumer._at(0, take)
        consumer._at(self.rng.randrange(1, 3), give)

    def _meanwhile(self) -> None:
        """What others do while one step takes long."""
        for _ in range(self.rng.randrange(1, 4)):
            self.rng.choice((self._commit, self._write, self._rebalance, lambda: self.kafka.groups.move("g")))()

    def _grow_old(self) -> None:
        """Let what is open outlive its time: the coordinator aborts it."""
        self.late_s += 11.0

    def _freeze(self) -> None:
        """Stop the worker in the middle: the group gives it up, and another one takes over."""
        if self.exactly_once:
            self._id = next(self._ids)
        self.kafka.groups.follow("g", self.walk.consumer.memberid(), lost=True)
        self._zombies.append(self.walk)
        self.begin()

    def _thaw(self) -> None:
        """Let a frozen worker go on: it commits and scores before it hears that it was given up."""
        if not self._zombies:
            return
        zombie = self._zombies.pop()
        zombie.consumer._script.clear()
        with self._quiet():
            self._ignoring(lambda: self._go_on(zombie))
            zombie.consumer.lose(*PARTITIONS)
            self._ignoring(lambda: (zombie.loop.turn(0), self._go_on(zombie)))
            zombie.loop.source._listener = None
            self._ignoring(zombie.loop.sink.close)
            zombie.consumer.close()

    def _go_on(self, zombie: Any) -> None:
        if batch := zombie.loop.batcher.take():
            zombie.loop.score(batch)
        if self.exactly_once:
            zombie.loop.sink.commit(Deadline.after(0.0))
        else:
            zombie.loop.settle()
            zombie.loop.commit()

    def _drain(self) -> None:
        with self._quiet():
            self.walker.end()
            self.walker.start()
            self.relay.drain(Deadline.after(1.0))
        self.begin()

    def finish(self) -> None:
        """Let nothing go wrong any more, until the group has committed the end of every partition."""
        while self._zombies:
            self._thaw()
        for _ in range(400):
            self._survive(self.walker._step)
            self._survive(self._commit)
            if all(self.committed(n) == self.kafka.end("in", n) for n in range(2)):
                break
        self.check()
        missing = self.expected.keys() - self.outcomes().keys()
        assert {place for place in missing if self.expected[place] != "none"} == set()
        assert [self.committed(n) for n in range(2)] == [self.kafka.end("in", n) for n in range(2)]

    def committed(self, partition: int) -> int:
        found = self.kafka.committed("g", ("in", partition))
        return found.offset if found else 0

    def outcomes(self) -> dict[Place, list[tuple[bytes | None, Any]]]:
        """What a reader of sink and dead letters sees of each record: key, and score or None."""
        found: defaultdict[Place, list[tuple[bytes | None, Any]]] = defaultdict(list)
        for message in self.kafka.read("out"):
            value = json.loads(message.value())
            place = value["source"]["partition"], value["source"]["offset"]
            found[place].append((message.key(), value["score"]))
        for message in self.kafka.read("dead"):
            headers = dict(message.headers())
            place = int(headers["__connect.errors.partition"]), int(headers["__connect.errors.offset"])
            found[place].append((message.key(), None))
        return found

    def check(self) -> None:
        """Look at what must hold at every moment; each record can be a dead letter, as a process may die of it."""
        outcomes = self.outcomes()
        for place, found in outcomes.items():
            expected = self.expected[place]
            keys = {key for key, score in found if score is not None}
            assert {score for _, score in found} <= {None, expected}, f"{place} has scores of others: {found}"
            assert keys <= {f"in/{place[0]}/{place[1]}".encode()}, f"{place} has keys of others: {keys}"
            assert len(found) == 1 or not self.exactly_once, f"{place} has {len(found)} outcomes"
        for partition, offset in self.expected:
            if offset < self.committed(partition) and self.expected[partition, offset] != "none":
                assert (partition, offset) in outcomes, f"{partition}/{offset} is committed without an outcome"

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Let nothing go wrong inside."""
        before, self.saboteur.active = self.saboteur.active, False
        try:
            yield
        finally:
            self.saboteur.active = before

    def _ignoring(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception:  # noqa: BLE001 - a worker that is ended already can fail as it likes
            return

    @staticmethod
    def _release(walker: Walker) -> None:
        if walker._baton.locked():
            walker._baton.release()
