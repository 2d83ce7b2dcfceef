"""The judge of a storm: what a reader of committed records found, against what was sent."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import orjson
from confluent_kafka import Message

from tests.chain.stream import BROKEN_EVERY, N_VECTORS, expected_scores, place, value

NEAR = 1e-5
"""How far single precision may be off the score worked out in double precision."""
SAME = 1e-6


class Outcome(NamedTuple):
    """What became of the record at a position; no score is a dead letter."""

    at: tuple[int, int]
    key: bytes
    score: float | None
    body: bytes


@dataclass
class Verdict:
    """The events for which a promise was broken, by their numbers."""

    n_outcomes: int = 0
    missing: list[int] = field(default_factory=list)
    twice: list[int] = field(default_factory=list)
    unlike: list[int] = field(default_factory=list)
    """Those whose repeats differ in key or score."""
    wrong: list[int] = field(default_factory=list)
    """Those with a wrong score, the wrong kind of outcome, or under a wrong key."""
    foreign: list[tuple[int, int]] = field(default_factory=list)
    """Positions at which nothing was sent."""

    @property
    def exactly_once(self) -> bool:
        return self.at_least_once and not self.twice

    @property
    def at_least_once(self) -> bool:
        return not (self.missing or self.unlike or self.wrong or self.foreign)

    def __str__(self) -> str:
        kinds = {name: getattr(self, name) for name in ("missing", "twice", "unlike", "wrong", "foreign")}
        found = (f"{len(events)} {name} {events[:5]}" for name, events in kinds.items())
        return f"{self.n_outcomes} outcomes: {', '.join(found)}"


def judge(scores: Iterable[Message], dead_letters: Iterable[Message], n_sent: int) -> Verdict:
    """Compare all that came of the first `n_sent` events with what must have."""
    expected = expected_scores()
    by_place: dict[tuple[int, int], list[Outcome]] = {place(i): [] for i in range(n_sent)}
    verdict = Verdict()
    for outcome in (*_scored(scores), *_buried(dead_letters)):
        verdict.n_outcomes += 1
        if outcome.at in by_place:
            by_place[outcome.at].append(outcome)
        else:
            verdict.foreign.append(outcome.at)
    for i in range(n_sent):
        _compare(i, by_place[place(i)], expected[i % N_VECTORS], verdict)
    return verdict


def _compare(i: int, outcomes: list[Outcome], expected: float, verdict: Verdict) -> None:
    if not outcomes:
        verdict.missing.append(i)
    if len(outcomes) > 1:
        verdict.twice.append(i)
        if len({outcome.key for outcome in outcomes}) > 1 or _spread(outcomes) > SAME:
            verdict.unlike.append(i)
    if not all(_right(i, outcome, expected) for outcome in outcomes):
        verdict.wrong.append(i)


def _right(i: int, outcome: Outcome, expected: float) -> bool:
    if i % BROKEN_EVERY == 0:
        return outcome.score is None and outcome.body == value(i).encode()
    return outcome.score is not None and abs(outcome.score - expected) < NEAR and outcome.key == b"e%d" % i


def _spread(outcomes: list[Outcome]) -> float:
    scores = [np.nan if outcome.score is None else outcome.score for outcome in outcomes]
    return 0.0 if all(np.isnan(scores)) else float(max(scores) - min(scores))


def _scored(messages: Iterable[Message]) -> Iterator[Outcome]:
    for message in messages:
        wire = orjson.loads(message.value())
        source = wire["source"]
        yield Outcome((source["partition"], source["offset"]), message.key(), wire["score"], message.value())


def _buried(messages: Iterable[Message]) -> Iterator[Outcome]:
    for message in messages:
        headers = dict(message.headers())
        at = tuple(int(headers[f"__connect.errors.{name}"]) for name in ("partition", "offset"))
        yield Outcome((at[0], at[1]), message.key(), None, message.value())
