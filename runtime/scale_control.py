"""How many replicas are wanted: up at once, down only when nothing more was wanted for a while."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import msgspec

from pelton.consumers.assignment import Partition
from pelton.scale_need import Need
from pelton.scale_rates import Capacity, Slope
from pelton.schemas.settings_scale import Scale

MARGIN = 1.1
"""Fewer replicas are wanted only if they would do for so many times of what arrives."""


@dataclass(frozen=True, slots=True)
class GroupLook:
    """What the broker says of one group: where its partitions end, how far it has come, how many members it has."""

    ends: dict[Partition, int]
    reached: dict[Partition, int]
    members: int

    @property
    def lag(self) -> int:
        """The records left over all partitions."""
        return sum(max(0, end - self.reached[at]) for at, end in self.ends.items())


class ScaleAnswer(msgspec.Struct, frozen=True):
    """What `/scale` answers; None = unknown. `lag_records` counts all partitions of all groups."""

    wanted_replicas: int
    reason: str
    lag_records: int
    drain_s: float | None
    start_s: float
    partitions: int
    replicas: int
    arrival_per_s: float | None
    capacity_per_s: float | None
    """What one replica does while it is busy."""
    age_s: float = 0.0
    """How long ago the broker was asked."""


class ScaleControl:
    """Follows the groups of a worker look by look; the clock is the caller's. A replica has so many `workers`."""

    def __init__(self, scale: Scale, workers: int) -> None:
        self._scale, self._workers = scale, workers
        self.capacity = Capacity()
        """To be told what the workers here do; others are taken to do as much."""
        self._arrivals, self._done = list[Slope](), list[Slope]()
        self._wants: deque[tuple[float, int]] = deque()
        self._first_s: float | None = None
        self._wanted = 0
        self._coming_at_s = 0.0

    def see(self, at_s: float, groups: Sequence[GroupLook], start_s: float) -> ScaleAnswer:
        """Return what is wanted, given what was found at `at_s` (monotonic) and how long a replica takes to start."""
        self._first_s = at_s if self._first_s is None else self._first_s
        arrival = _rate(self._arrivals, at_s, [group.ends for group in groups])
        done = _rate(self._done, at_s, [group.reached for group in groups])
        lag, each = sum(group.lag for group in groups), self.capacity.per_s
        seen = ScaleAnswer(
            wanted_replicas=0,
            reason="",
            lag_records=lag,
            drain_s=0.0 if lag == 0 else round(lag / done, 1) if done else None,
            start_s=round(start_s, 1),
            partitions=max((len(group.ends) for group in groups), default=0),
            replicas=max((ceil(group.members / self._workers) for group in groups), default=0),
            arrival_per_s=None if arrival is None else round(arrival, 3),
            capacity_per_s=None if each is None else round(each * self._workers, 3),
        )
        wanted, reason = self._decide(at_s, seen)
        return msgspec.structs.replace(seen, wanted_replicas=wanted, reason=reason)

    def _decide(self, at_s: float, seen: ScaleAnswer) -> tuple[int, str]:
        least, most = self._bounds(seen.partitions)
        need = self._need(at_s, seen)
        if seen.lag_records == 0 and seen.arrival_per_s == 0:
            want, reason = least, "nothing is left to read, and nothing arrives"
        elif need is None:
            want = max(least, min(most, seen.replicas))
            reason = "what arrives, or what a replica does, is not measured yet"
        else:
            want = max(least, need.replicas_needed(most))
            reason = _say(need, want, least, most)
            if want < self._wanted:
                # What is just enough would be too little a moment later.
                spare = replace(need, arrival_per_s=need.arrival_per_s * MARGIN).replicas_needed(most)
                want = max(want, min(self._wanted, spare))
        held = self._hold(at_s, want, least, min(most, seen.replicas))
        self._ask_for(at_s, held, seen)
        return held, reason if held == want else f"{reason}; {held} are kept over the cooldown"

    def _bounds(self, partitions: int) -> tuple[int, int]:
        """Return the least and the most replicas: a member without a partition has nothing to do."""
        of_use = max(1, ceil(partitions / self._workers))
        most = of_use if self._scale.max is None else min(of_use, self._scale.max)
        return min(self._scale.min, most), most

    def _need(self, at_s: float, seen: ScaleAnswer) -> Need | None:
        if seen.arrival_per_s is None or seen.capacity_per_s is None:
            return None
        return Need(
            lag=seen.lag_records,
            arrival_per_s=seen.arrival_per_s,
            capacity_per_s=seen.capacity_per_s,
            replicas=seen.replicas,
            drain_s=self._scale.drain_s,
            start_s=seen.start_s,
            coming=self._wanted,
            coming_in_s=max(0.0, self._coming_at_s - at_s),
        )

    def _hold(self, at_s: float, want: int, least: int, replicas: int) -> int:
        """Return the largest want within the cooldown; who has not watched for so long takes nobody away."""
        self._wants.append((at_s, want))
        while self._wants[0][0] < at_s - self._scale.cooldown_s:
            self._wants.popleft()
        young = self._first_s is not None and at_s - self._first_s < self._scale.cooldown_s
        return max(least, *(each for _, each in self._wants), replicas if young else 0)

    def _ask_for(self, at_s: float, wanted: int, seen: ScaleAnswer) -> None:
        """Note when those will be there that are wanted now and were not before."""
        if wanted > max(self._wanted, seen.replicas):
            self._coming_at_s = at_s + seen.start_s
        self._wanted = wanted


def _rate(slopes: list[Slope], at_s: float, offsets: Sequence[dict[Partition, int]]) -> float | None:
    """Return the offsets a second of all groups, None while one is unknown."""
    slopes.extend(Slope() for _ in range(len(offsets) - len(slopes)))
    for slope, each in zip(slopes, offsets, strict=True):
        slope.see(at_s, each)
    rates = [slope.per_s for slope in slopes]
    return None if None in rates else sum(rate for rate in rates if rate is not None)


def _say(need: Need, want: int, least: int, most: int) -> str:
    what = (
        f"{need.arrival_per_s:.0f} records/s and {need.lag} behind, at {need.capacity_per_s:.0f}/s a replica and "
        f"{need.drain_s:g} s to drain, need {want}"
    )
    if want == most and need.clears_in_s(most) > need.drain_s:
        return f"{what}, and that is all: no more partitions, or scale.max"
    return f"{what}, by scale.min" if want == least > 1 else what
