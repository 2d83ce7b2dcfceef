"""The plan of a storm: which blow comes after which, drawn by a seed."""

import random
from collections.abc import Iterator
from enum import StrEnum


class Blow(StrEnum):
    """What may happen to a group of workers."""

    KILL = "kill"
    """A worker with partitions gets SIGKILL; its supervisor starts it again."""
    STOP = "stop"
    """A worker with partitions is frozen until others score in its place, and goes on."""
    ADD = "add"
    REMOVE = "remove"
    """A worker with partitions is told to end, and drains."""
    BROKER = "broker"
    """The broker is stopped and started again."""


FEWEST, MOST = 2, 4
"""Workers at a time."""
WEIGHTS = {Blow.KILL: 10, Blow.STOP: 3, Blow.ADD: 2, Blow.REMOVE: 2}


def blows(rng: random.Random, n_workers: int) -> Iterator[Blow]:
    """Draw blows for ever: each kind once in any order, then by weight; the broker's turn does not come again."""
    waiting = list(Blow)
    rng.shuffle(waiting)
    while True:
        blow = waiting.pop() if waiting else rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
        if FEWEST <= n_workers + (blow is Blow.ADD) - (blow is Blow.REMOVE) <= MOST:
            n_workers += (blow is Blow.ADD) - (blow is Blow.REMOVE)
            yield blow
