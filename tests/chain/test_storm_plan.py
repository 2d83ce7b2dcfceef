"""A plan is the same for the same seed, has every kind of blow, and never leaves too few workers."""

import random
from itertools import islice

import pytest

from tests.chain.storm_plan import FEWEST, MOST, Blow, blows


def test_the_same_seed_gives_the_same_plan() -> None:
    first, again, other = (list(islice(blows(random.Random(seed), 3), 50)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_has_every_kind_of_blow_early_and_the_broker_once(seed: int) -> None:
    plan = list(islice(blows(random.Random(seed), 3), 200))
    assert set(plan[:5]) == set(Blow)
    assert plan.count(Blow.BROKER) == 1
    assert plan.count(Blow.KILL) > 80
    n_workers = 3
    for blow in plan:
        n_workers += (blow is Blow.ADD) - (blow is Blow.REMOVE)
        assert FEWEST <= n_workers <= MOST
