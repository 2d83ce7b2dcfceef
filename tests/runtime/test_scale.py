"""Replicas wanted: they follow the load without flapping, and a backlog is gone in time."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pelton.scale_control import GroupLook, ScaleControl
from pelton.scale_need import Need
from pelton.scale_rates import Capacity, Slope
from pelton.schemas.settings_scale import Scale

from .simulated_scaler import COLD_S, LOOK_S, Cluster

DRAIN_S = 120
SEEN_S = 2 * LOOK_S + 30
"""A step shows in full after two looks, and is heard of by the next poll."""


def step(low: int, high: int, at_s: int = 300, until_s: int = 10**6) -> Callable[[int], float]:
    return lambda second: high if at_s <= second < until_s else low


def cleared_s(cluster: Cluster, since_s: int) -> int:
    """Return how long after a moment the lag was gone for good: less than a second's work is left."""
    late = [second for second, lag in enumerate(cluster.lags, 1) if lag > 1.5 * cluster.load(second)]
    return max([second for second in late if second > since_s], default=since_s) - since_s


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("high", [150, 300, 650, 1500])
def test_a_step_is_followed_and_drained_in_time_with_cold_starts(high: int, noise: float) -> None:
    cluster = Cluster(step(50, high, until_s=2400), noise=noise, drain_s=DRAIN_S, partitions=64).run(3600)
    assert cleared_s(cluster, 300) <= SEEN_S + DRAIN_S
    # One way up, one way down, and for the load that stays no more than keeps a replica 80 % busy, or one.
    assert cluster.turns() <= 1
    steady = cluster.answers[2300 // LOOK_S].wanted_replicas
    assert math.ceil(high / 80) <= steady <= math.ceil(1.1 * high / 80) + 1
    assert cluster.answers[-1].wanted_replicas == 1


@pytest.mark.parametrize("seed", range(8))
def test_noise_of_a_fifth_does_not_make_it_flap(seed: int) -> None:
    # 240/s need exactly three replicas that are 80 % busy: the worst place to be.
    cluster = Cluster(lambda _: 240, noise=0.2, seed=seed).run(7200)
    assert cluster.turns(since_s=900) == 0
    assert cluster.turns() <= 1
    assert cluster.lags[-1] < 240


def test_waves_are_followed_with_as_many_turns_as_they_have() -> None:
    hours_s = 7200
    cluster = Cluster(lambda second: 300 + 250 * math.sin(second / hours_s * 2 * math.pi), noise=0.2).run(3 * hours_s)
    assert cluster.turns(since_s=900) <= 2 * 3 + 2
    assert max(cluster.lags[900:]) < 60 * 100


def test_a_backlog_before_a_small_load_is_gone_in_time() -> None:
    cluster = Cluster(lambda second: 40_000 if second == 400 else 50).run(3000)
    assert cleared_s(cluster, 400) <= SEEN_S + DRAIN_S
    assert cluster.answers[-1].wanted_replicas == 1
    assert cluster.turns() <= 1


def test_replicas_that_are_starting_already_are_not_asked_for_again() -> None:
    cluster = Cluster(step(50, 650)).run(300 + SEEN_S)
    first = max(cluster.desired)
    assert cluster.replicas == 1
    cluster.run(COLD_S)
    assert max(cluster.desired) <= first + 1


def test_pods_that_never_come_are_no_reason_to_want_fewer() -> None:
    cluster = Cluster(step(50, 650), comes=lambda _: False, partitions=12).run(2000)
    wanted = [answer.wanted_replicas for answer in cluster.answers]
    assert wanted[-1] == 12
    assert "that is all" in cluster.answers[-1].reason
    assert cluster.turns() == 0


def test_a_worker_that_idles_is_not_taken_to_be_slow() -> None:
    # In small batches each record costs three times as much: at a low load it is busy far above its share.
    cluster = Cluster(step(600, 60, at_s=1200), batch_gain=3.0).run(3600)
    assert cluster.answers[-1].wanted_replicas == 1
    assert cluster.answers[-1].capacity_per_s == pytest.approx(100, rel=0.05)


def test_fewer_are_wanted_only_after_the_cooldown() -> None:
    cluster = Cluster(step(650, 50, at_s=1500), cooldown_s=300).run(3000)
    wanted = [answer.wanted_replicas for answer in cluster.answers]
    before = wanted[1400 // LOOK_S]
    falls_s = LOOK_S * next(n for n, each in enumerate(wanted) if n * LOOK_S > 1400 and each < before)
    assert 1500 + 300 - 60 <= falls_s <= 1500 + 300 + 2 * SEEN_S


def look(lag: int = 0, end: int = 1000, members: int = 1, partitions: int = 4) -> GroupLook:
    """One group whose first partition is behind."""
    ends = {("in", number): end for number in range(partitions)}
    return GroupLook(ends, ends | {("in", 0): end - lag}, members)


def asked(*looks: GroupLook, workers: int = 1, per_s: float | None = 100.0, every_s: float = 15, **scale: Any) -> Any:
    """Return the last answer of a control that was shown these looks."""
    control = ScaleControl(Scale(**scale), workers)
    if per_s is not None:
        control.capacity.see(0, 0.0, 0, 0.0)
        control.capacity.see(0, 10.0, int(10 * per_s), 10.0)
    return [control.see(100.0 + every_s * n, [each], 60.0) for n, each in enumerate(looks)][-1]


def test_the_answer_has_what_scalers_and_people_read() -> None:
    told = msgspec.to_builtins(asked(look(), look(300, end=1150)))
    assert {name: told[name] for name in ("wanted_replicas", "lag_records", "partitions", "replicas", "start_s")} == {
        "wanted_replicas": 1,
        "lag_records": 300,
        "partitions": 4,
        "replicas": 1,
        "start_s": 60.0,
    }
    # In 15 s four partitions grew by 150 each, and three of them were read to their end: 30 a second.
    assert (told["arrival_per_s"], told["capacity_per_s"], told["drain_s"]) == (40.0, 100.0, 10.0)
    assert told["reason"] == "40 records/s and 300 behind, at 100/s a replica and 120 s to drain, need 1"


@pytest.mark.parametrize(
    ("looks", "options", "wanted", "why"),
    [
        ([look(), look()], {}, 1, "nothing is left to read"),
        ([look(), look()], {"min": 3}, 3, "nothing is left to read"),
        ([look(), look()], {"min": 0, "cooldown_s": 10}, 0, "nothing is left to read"),
        ([look(members=3)], {}, 3, "not measured yet"),
        ([look(9999, members=2)], {"per_s": None}, 2, "not measured yet"),
        ([look(9999, members=2), look(9999, members=2)], {"per_s": None}, 2, "not measured yet"),
        ([look(10**6), look(10**6)], {}, 4, "that is all"),
        ([look(10**6), look(10**6)], {"max": 2}, 2, "that is all"),
        ([look(10**6), look(10**6)], {"workers": 2}, 2, "that is all"),
        ([look(10**6, partitions=5)] * 2, {"workers": 2}, 3, "that is all"),
        ([look(10**6, members=8)] * 2, {}, 4, "that is all"),  # members without a partition are of no use
        ([look(100), look(100)], {"min": 2}, 2, "by scale.min"),
        ([look(members=2), look(members=4)], {}, 4, "kept over the cooldown"),  # it has not watched for long enough
    ],
)
def test_bounds_and_what_is_said_of_them(
    looks: list[GroupLook], options: dict[str, Any], wanted: int, why: str
) -> None:
    answer = asked(*looks, **options)
    assert answer.wanted_replicas == wanted
    assert why in answer.reason


@pytest.mark.parametrize(
    ("need", "most", "expected"),
    [
        # 80 % of 100/s: 240/s need three, and a hair more needs four.
        ((0, 240, 3), 10, 3),
        ((0, 241, 3), 10, 4),
        ((0, 0, 1), 10, 1),
        # Twelve thousand in 120 s beside 50/s: 150/s are too little for one, 200/s do, and they take 60 s to come. By
        # then 9000 are left for 60 s: 150/s and the 50 that arrive.
        ((12_000, 50, 1), 10, 2),
        ((12_000, 50, 2), 10, 2),
        ((18_000, 50, 1), 10, 3),
        ((10**6, 50, 1), 10, 10),
        ((100, 900, 1), 3, 3),
    ],
)
def test_what_a_backlog_needs_is_arithmetic(need: tuple[int, float, int], most: int, expected: int) -> None:
    lag, arrival, replicas = need
    assert Need(lag, arrival, 100.0, replicas, drain_s=120, start_s=60).replicas_needed(most) == expected


def test_a_start_that_takes_longer_than_the_drain_time_leaves_a_quarter_of_it_to_drain() -> None:
    # 600 s until they come; 1000 + 60 * 600 records later 37,000 are left for 30 s.
    need = Need(1000, 160, 100.0, 1, drain_s=120, start_s=600)
    assert need.replicas_needed(100) == math.ceil(37_000 / 30 / 100 + 1.6)


def test_partitions_that_come_or_are_made_anew_are_no_arrivals() -> None:
    slope = Slope()
    slope.see(0, {("in", 0): 1000})
    assert slope.per_s is None
    slope.see(10, {("in", 0): 1100, ("in", 1): 70_000})
    assert slope.per_s == 10.0
    slope.see(20, {("in", 0): 5, ("in", 1): 70_000})
    assert slope.per_s == 0.0


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ([(0, 0, 0.0)], None),
        ([(0, 0, 0.0), (15, 0, 0.0)], None),
        ([(0, 0, 0.0), (15, 30, 1.9)], None),  # too short to tell
        ([(0, 0, 0.0), (15, 300, 3.0)], 100.0),
        ([(0, 0, 0.0), (15, 300, 3.0), (30, 320, 5.0)], 73.0),
        ([(0, 0, 0.0), (15, 3000, 15.0), (30, 3020, 17.0)], 200.0),  # it has shown what it can do
        ([(0, 900, 90.0), (15, 100, 1.0), (30, 400, 4.0)], 100.0),  # another process
        ([(0, 0, 0.0), (15, 0, 15.0), (30, 0, 30.0), (45, 450, 40.0)], 11.25),  # a batch longer than a look
        ([(0, 0, 0.0), (15, 0, 0.0), (30, 20, 0.2), (45, 210, 2.1)], 100.0),  # little by little
    ],
)
def test_capacity_is_what_was_done_in_busy_time(totals: list[tuple[float, int, float]], expected: float | None) -> None:
    capacity = Capacity()
    for each in totals:
        capacity.see(0, *each)
    assert capacity.per_s == (None if expected is None else pytest.approx(expected))
