"""The demo's checks: what was read back against what was sent, as pure functions over records."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pelton.demo_records import DeadLetter, Scored, Sent

TOLERANCE = 1e-6
"""How far a score, and the AUC, may be from the offline one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the demo sent and read back, and what the package itself says offline, by event id."""

    sent: Sequence[Sent]
    scored: Sequence[Scored]
    dead: Sequence[DeadLetter]
    offline: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a check does not hold: which check, how many records, and one of them."""

    check: str
    what: str
    count: int
    example: str

    def __str__(self) -> str:
        return f"{self.count} {self.what}, such as {self.example}"


def check(evidence: Evidence) -> list[Finding]:
    """Return every finding; none means that every event came out exactly once, and right."""
    findings = []
    for title, examine in CHECKS.items():
        faults = Counter[str]()
        first: dict[str, str] = {}
        for what, example in examine(evidence):
            faults[what] += 1
            first.setdefault(what, example)
        findings += [Finding(title, what, count, first[what]) for what, count in faults.items()]
    return findings


Fault = tuple[str, str]


def _once_by_position(evidence: Evidence) -> Iterator[Fault]:
    outcomes = [scored.position for scored in evidence.scored] + [dead.position for dead in evidence.dead]
    yield from _exactly_once([sent.position for sent in evidence.sent], outcomes, "input records")


def _once_by_id(evidence: Evidence) -> Iterator[Fault]:
    outcomes = [scored.event_id for scored in evidence.scored] + [_text(dead.key) for dead in evidence.dead]
    yield from _exactly_once([sent.planned.key for sent in evidence.sent], outcomes, "events")


def _exactly_once(wanted: Iterable[Hashable], found: Iterable[Hashable], of: str) -> Iterator[Fault]:
    due, came = Counter(wanted), Counter(found)
    for thing, count in due.items():
        if count > 1:
            yield f"{of} sent more than once", str(thing)
        if came[thing] == 0:
            yield f"{of} without a score or a dead letter", str(thing)
        if came[thing] > 1:
            yield f"{of} with more than one score or dead letter", str(thing)
    for thing in came.keys() - due.keys():
        yield f"scores or dead letters of {of} that were never sent", str(thing)


def _right_road(evidence: Evidence) -> Iterator[Fault]:
    by_position = {sent.position: sent.planned for sent in evidence.sent}
    for scored in evidence.scored:
        planned = by_position.get(scored.position) if scored.position else None
        if planned and planned.code is not None:
            yield "broken records with a score", f"{planned.key} ({planned.code})"
        if planned and scored.event_id != planned.key:
            yield "scores that name another event than the one at their source", f"{scored.event_id}"
    for dead in evidence.dead:
        planned = by_position.get(dead.position) if dead.position else None
        if planned and planned.code is None:
            yield "intact events among the dead letters", f"{planned.key} ({dead.code})"


def _keys(evidence: Evidence) -> Iterator[Fault]:
    for scored in evidence.scored:
        if scored.event_id is None or scored.key != scored.event_id.encode():
            yield "scores whose record key is not their event id", f"{scored.key!r} for {scored.event_id}"
    by_position = {sent.position: sent.planned for sent in evidence.sent}
    for dead in evidence.dead:
        planned = by_position.get(dead.position) if dead.position else None
        if planned and (dead.key, dead.value) != (planned.key.encode(), planned.value):
            yield "dead letters that differ from the original", planned.key


def _codes(evidence: Evidence) -> Iterator[Fault]:
    by_position = {sent.position: sent.planned for sent in evidence.sent}
    for dead in evidence.dead:
        planned = by_position.get(dead.position) if dead.position else None
        if planned and planned.code is not None and dead.code != planned.code:
            yield "dead letters with the wrong code", f"{planned.key}: {dead.code}, not {planned.code}"


def _same_scores(evidence: Evidence) -> Iterator[Fault]:
    for scored in evidence.scored:
        there = evidence.offline.get(scored.event_id or "")
        if there is None or not math.isclose(scored.score, there, rel_tol=0.0, abs_tol=TOLERANCE):
            yield "scores that differ from the offline ones", f"{scored.event_id}: {scored.score}, not {there}"


def _same_auc(evidence: Evidence) -> Iterator[Fault]:
    online, offline = areas(evidence)
    if not math.isclose(online, offline, rel_tol=0.0, abs_tol=TOLERANCE):
        yield "AUC off the offline one", f"{online:.9f}, not {offline:.9f}"


CHECKS: Mapping[str, Callable[[Evidence], Iterator[Fault]]] = {
    "each input position has exactly one score or dead letter": _once_by_position,
    "each event id has exactly one score or dead letter": _once_by_id,
    "intact events are scored, broken ones are dead letters": _right_road,
    "keys are event ids; dead letters are the original bytes": _keys,
    "each dead letter has the code of its fault": _codes,
    f"scores equal the offline ones to {TOLERANCE:g}": _same_scores,
    f"AUC of the sink topic equals the offline AUC to {TOLERANCE:g}": _same_auc,
}
"""Every check, by what it makes sure of."""


def areas(evidence: Evidence) -> tuple[float, float]:
    """Return the AUC of the scores in the sink, and of the offline ones on the rows sent."""
    labels = {s.planned.key: s.planned.label for s in evidence.sent if s.planned.label is not None}
    online = [(labels[s.event_id], s.score) for s in evidence.scored if s.event_id in labels]
    offline = [(labels[key], score) for key, score in evidence.offline.items() if key in labels]
    return auc(online), auc(offline)


def auc(pairs: Iterable[tuple[bool, float]]) -> float:
    """Return how probably a positive has the higher score of two, ties counted half.

    It is NaN without positives, without negatives, or with a score that is NaN.
    """
    ranked = sorted(pairs, key=lambda pair: pair[1])
    if any(math.isnan(score) for _, score in ranked):
        return math.nan
    positives = negatives = won = row = 0
    while row < len(ranked):
        end = row
        while end < len(ranked) and ranked[end][1] == ranked[row][1]:
            end += 1
        tied_positives = sum(label for label, _ in ranked[row:end])
        tied_negatives = end - row - tied_positives
        # Counted in halves, so that the sum stays a whole number.
        won += tied_positives * (2 * negatives + tied_negatives)
        positives += tied_positives
        negatives += tied_negatives
        row = end
    return won / (2 * positives * negatives) if positives and negatives else math.nan


def _text(key: bytes | None) -> str | None:
    return None if key is None else str(key, "utf-8", "replace")
