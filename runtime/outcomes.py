"""Where events and scores meet: every record has one outcome, a score or the reason why there is none."""

from collections.abc import Iterator, Sequence
from typing import Any

from pelton.consumers.batch import Batch
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection, Tombstone


def scorable(batch: Batch) -> list[Any]:
    """Return the events the model is to score, in the order of the batch."""
    events = [event for records in batch.parts for event in records.events]
    return events if _all_scorable(events) else [event for event in events if _is_scorable(event)]


def join_outcomes(batch: Batch, scores: Sequence[Any]) -> Iterator[tuple[Records, list[Any]]]:
    """Yield each block of a batch with one outcome a record, given the scores of its scorable events."""
    scores = list(scores)
    used = 0
    for records in batch.parts:
        if _all_scorable(records.events):
            yield records, scores[used : used + len(records)]
            used += len(records)
        else:
            rest = iter(scores[used:])
            outcomes = [next(rest) if _is_scorable(event) else event for event in records.events]
            used += sum(map(_is_scorable, records.events))
            yield records, outcomes


def _is_scorable(event: Any) -> bool:
    return not isinstance(event, (Rejection, Tombstone))


def _all_scorable(events: list[Any]) -> bool:
    return set(map(type, events)).isdisjoint((Rejection, Tombstone))
