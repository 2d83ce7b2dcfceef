"""A storm over a group of workers: blow after blow, each one once scores flow again on every partition."""

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

from pelton.local_kafka import LocalKafka
from tests.broker.served import Served, eventually
from tests.chain.broker_fault import spoilt_by
from tests.chain.storm_crew import Crew, frozen, holds
from tests.chain.storm_flow import Flow
from tests.chain.storm_plan import Blow
from tests.chain.stream import Fill

FLOWS_S = 60.0
AWAKE_LATE = 0.3
"""Share of the frozen ones that go on only when others score what was theirs, after the transaction's time-out."""
AFTER_SCORES_S = (0.05, 0.5)


class Storm(AbstractContextManager["Storm"]):
    """Strikes; a context manager in which the events flow.

    Each blow ends when every partition has given a score of an event that was sent after it: a blow that comes while
    the group is still busy with the last one hits workers without partitions, and lets the wrong ones pass.
    """

    def __init__(self, crew: Crew, fill: Fill, flow: Flow, rng: random.Random, kafka: LocalKafka | None = None) -> None:
        self.struck: dict[str, int] = {}
        self.took_s: dict[str, float] = {}
        self._crew, self._fill, self._flow, self._rng, self._kafka = crew, fill, flow, rng, kafka
        self._began_s = 0.0
        self._blows = {
            Blow.KILL: self._kill,
            Blow.STOP: self._stop,
            Blow.ADD: self._add,
            Blow.REMOVE: self._remove,
            Blow.BROKER: self._restart_broker,
        }

    def __enter__(self) -> "Storm":
        self._began_s = time.monotonic()
        self._fill.start()
        self._flow.start()
        self.await_flow()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._fill.enough.set()
        self._fill.join(FLOWS_S)
        self._flow.over.set()
        self._flow.join(FLOWS_S)
        assert error or not (self._fill.is_alive() or self._fill.refused)

    def strike(self, blow: Blow) -> None:
        """Deal one blow and wait until scores flow again."""
        self.strike_with(blow.value, self._blows[blow])

    def strike_with(self, name: str, deal: Callable[[], object]) -> None:
        """Deal a blow of another kind and wait until scores flow again."""
        began_s = time.monotonic()
        deal()
        self.await_flow()
        took_s = time.monotonic() - began_s
        self.struck[name] = self.struck.get(name, 0) + 1
        self.took_s[name] = round(self.took_s.get(name, 0) + took_s, 1)

    def lasted_s(self) -> float:
        """Return how long events have flowed."""
        return time.monotonic() - self._began_s

    def await_flow(self) -> None:
        """Wait until every partition has given a score of an event sent from now on."""
        n_sent, n_arrived = self._fill.sent, self._fill.arrived
        with spoilt_by(lambda: "no event comes any more" if 0 < n_arrived == self._fill.arrived else ""):
            eventually(
                lambda: self._flow.reached(n_sent), FLOWS_S, lambda: f"{self._flow.silent_s()}\n{self._crew.logs()}"
            )

    def _victim(self) -> Served:
        """Choose a worker that has partitions and has begun to score them."""
        held = self._crew.holder(self._rng)
        self.await_flow()
        # Scores leave in bursts: right after one was seen, a worker has least to lose.
        time.sleep(self._rng.uniform(*AFTER_SCORES_S))
        return held

    def _kill(self) -> None:
        self._victim().kill_worker()

    def _stop(self) -> None:
        """Freeze a worker until its partitions have moved: its transaction may be open still, or timed out too."""
        victim = self._victim()
        with frozen(victim):
            eventually(lambda: self._crew.replaced(victim), FLOWS_S, self._crew.logs)
            if self._rng.random() < AWAKE_LATE:
                self.await_flow()

    def _add(self) -> None:
        added = self._crew.add()
        eventually(lambda: holds(added), FLOWS_S, added.log_text)

    def _remove(self) -> None:
        self._crew.remove(self._victim())

    def _restart_broker(self) -> None:
        assert self._kafka is not None
        self._kafka.restart()
