"""A cluster on a clock of its own: replicas that take their time to start, and a scaler that polls now and then.

Nothing of the code under test decides what a replica does here: records arrive and are done second by second.
"""

import random
from collections.abc import Callable
from itertools import pairwise

from pelton.scale_control import GroupLook, ScaleAnswer, ScaleControl
from pelton.schemas.settings_scale import Scale

LOOK_S = 15
COLD_S = 60


class Cluster:
    """One group of `partitions`, whose load is a function of the second; a replica does `per_s` while it is busy."""

    def __init__(
        self,
        load: Callable[[int], float],
        *,
        per_s: float = 100.0,
        partitions: int = 24,
        replicas: int = 1,
        noise: float = 0.0,
        seed: int = 1,
        batch_gain: float = 1.0,
        comes: Callable[[int], bool] = lambda _: True,
        **scale: float,
    ) -> None:
        self.load, self.per_s, self.partitions, self.noise = load, per_s, partitions, noise
        self.dice, self.batch_gain, self.comes = random.Random(seed), batch_gain, comes
        self.control = ScaleControl(Scale(**scale), workers=1)  # type: ignore[arg-type]
        self.now_s, self.written, self.done, self.busy_s = 0, 0.0, 0.0, 0.0
        self.mine = 0.0
        self.replicas, self.starting = replicas, list[int]()
        self.answers: list[ScaleAnswer] = []
        self.desired: list[int] = [replicas]
        self.lags: list[float] = []
        self._poll_at_s = 20

    def run(self, seconds: int) -> "Cluster":
        """Let time pass."""
        for _ in range(seconds):
            self._second()
        return self

    @property
    def lag(self) -> float:
        return self.written - self.done

    def turns(self, since_s: int = 0) -> int:
        """Return how often the wanted replicas changed their direction."""
        wanted = [answer.wanted_replicas for answer in self.answers[since_s // LOOK_S :]]
        steps = [new - old for old, new in pairwise(wanted) if new != old]
        return sum((one > 0) is not (other > 0) for one, other in pairwise(steps))

    def _noisy(self, value: float) -> float:
        return value * self.dice.uniform(1 - self.noise, 1 + self.noise)

    def _second(self) -> None:
        self.now_s += 1
        self.written += self._noisy(self.load(self.now_s))
        self.starting = [at_s for at_s in self.starting if self.comes(self.now_s) or at_s > self.now_s]
        here = [at_s for at_s in self.starting if at_s <= self.now_s]
        self.starting = [at_s for at_s in self.starting if at_s > self.now_s]
        self.replicas += len(here)
        able = self._noisy(self.replicas * self.per_s)
        did = min(self.lag, able)
        self.done += did
        if self.replicas:
            share = did / able
            # Small batches cost more for each record: at little load a replica is busier than its share.
            self.busy_s += share ** (1 / self.batch_gain)
            self.mine += did / self.replicas
        self.lags.append(self.lag)
        if self.now_s % LOOK_S == 0:
            self._look()
        if self.now_s >= self._poll_at_s:
            self._poll_at_s = self.now_s + self.dice.randint(15, 30)
            self._scale()

    def _look(self) -> None:
        self.control.capacity.see(0, self.now_s, int(self.mine), self.busy_s)
        each = 1 / self.partitions
        ends = {("in", number): int(self.written * each) for number in range(self.partitions)}
        reached = {("in", number): int(self.done * each) for number in range(self.partitions)}
        look = GroupLook(ends, reached, members=self.replicas)
        self.answers.append(self.control.see(float(self.now_s), [look], COLD_S))

    def _scale(self) -> None:
        """Do as KEDA and a HorizontalPodAutoscaler do: what is wanted is asked for, fewer are taken away at once."""
        wanted = self.answers[-1].wanted_replicas if self.answers else self.desired[-1]
        asked = self.replicas + len(self.starting)
        if wanted > asked:
            self.starting += [self.now_s + COLD_S] * (wanted - asked)
        elif wanted < asked:
            kept = max(0, wanted - self.replicas)
            self.starting, self.replicas = self.starting[:kept], min(self.replicas, wanted)
        self.desired.append(wanted)
