"""The judge of probes: what was answered, against what has happened."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.broker.prober import EVERY_S, PATHS, Answer, Stall, stood_still

SKIPPED_S = 1.0


@dataclass
class Event:
    """Something that may make the workers it happens to not ready, each once, while it lasts."""

    kind: str
    began_s: float
    to: str | None = None
    """Whom it happens to; nobody named is everybody."""
    over_s: float = math.inf


class Record:
    """All that one `pelton serve` answered, in order; `told_s` is when it was told to end."""

    def __init__(self, answers: Iterable[Answer], told_s: float = math.inf) -> None:
        self._told_s = told_s
        self.of: dict[str, list[Answer]] = {probe: [] for probe in PATHS}
        for answer in answers:
            self.of[answer.probe].append(answer)

    def wrong(self) -> list[Answer]:
        """Return what must never be: not live, started no more, or no answer at all before it was told to end."""
        started = itertools.dropwhile(lambda answer: answer.status == 503, self.of["startup"])
        ready = (answer for answer in self.of["ready"] if answer.status != 503)
        return [
            answer
            for answer in (*self.of["live"], *self.of["metrics"], *started, *ready)
            if answer.status != 200 and not (answer.status == 0 and answer.asked_s + answer.took_s >= self._told_s)
        ]

    def dips(self) -> list[Answer]:
        """Return the answer with which each time of not being ready began, but for the one before it was ever ready."""
        seen = itertools.dropwhile(lambda answer: answer.status != 200, self.of["ready"])
        return [after for before, after in itertools.pairwise(seen) if before.status == 200 != after.status]

    def pauses(self, stalls: Iterable[Stall]) -> list[Answer]:
        """Return the answers before which the prober did not ask for longer than it stood still."""
        stalls = list(stalls)
        return [
            after
            for asked in self.of.values()
            for before, after in itertools.pairwise(asked)
            if after.asked_s - before.asked_s - before.took_s - stood_still(stalls, before.asked_s, after.asked_s)
            > EVERY_S + SKIPPED_S
        ]


def by_name(answers: Iterable[Answer], events: Iterable[Event]) -> dict[str, Record]:
    """Return the record of each one; the event "leave" tells when it was told to end."""
    told = {event.to: event.began_s for event in events if event.kind == "leave"}
    grouped: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        grouped[answer.name].append(answer)
    return {name: Record(given, told.get(name, math.inf)) for name, given in grouped.items()}


def unexplained(dips: Iterable[Answer], events: Iterable[Event]) -> Iterator[Answer]:
    """Yield the dips of one worker that no event explains; an event explains one of them."""
    left = list(events)
    for dip in dips:
        if why := next((event for event in left if explains(event, dip)), None):
            left.remove(why)
        else:
            yield dip


def explains(event: Event, dip: Answer) -> bool:
    return event.to in {None, dip.name} and event.began_s <= dip.asked_s + dip.took_s and dip.asked_s <= event.over_s
