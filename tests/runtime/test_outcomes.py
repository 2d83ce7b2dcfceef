"""Where events and scores meet: each record has one outcome, in its place."""

import random
from typing import Any

import pytest

from pelton.consumers.batch import Batch, CloseReason
from pelton.outcomes import join_outcomes, scorable
from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import TOMBSTONE, Rejection

BAD = Rejection(Code.INVALID, "wrong", "decode", "ValidationError")


def batch_of(*blocks: list[Any]) -> Batch:
    parts = [
        Records("in", n, 1, [None] * len(events), list(range(len(events))), events, 0, 0.0)
        for n, events in enumerate(blocks)
    ]
    return Batch(parts, CloseReason.SIZE, 0.0)


def joined(batch: Batch, scores: list[Any]) -> list[list[Any]]:
    pairs = list(join_outcomes(batch, scores))
    assert [records for records, _ in pairs] == batch.parts
    return [list(outcomes) for _, outcomes in pairs]


def test_events_of_all_blocks_are_scored_together_in_order() -> None:
    batch = batch_of(["a", "b"], ["c"], ["d", "e"])
    assert scorable(batch) == ["a", "b", "c", "d", "e"]
    assert joined(batch, [1, 2, 3, 4, 5]) == [[1, 2], [3], [4, 5]]


def test_what_is_no_event_is_its_own_outcome() -> None:
    batch = batch_of([BAD, "a", TOMBSTONE], ["b"], [TOMBSTONE, BAD], ["c", BAD])
    assert scorable(batch) == ["a", "b", "c"]
    assert joined(batch, [1, 2, 3]) == [[BAD, 1, TOMBSTONE], [2], [TOMBSTONE, BAD], [3, BAD]]


def test_b02_a_rejection_of_the_scorer_stands_in_the_place_of_its_event() -> None:
    assert joined(batch_of(["a", BAD, "b"], ["c"]), [1, BAD, 3]) == [[1, BAD, BAD], [3]]


def test_nothing_to_score_leaves_everything_in_its_place() -> None:
    batch = batch_of([BAD], [TOMBSTONE, TOMBSTONE])
    assert scorable(batch) == []
    assert joined(batch, []) == [[BAD], [TOMBSTONE, TOMBSTONE]]


@pytest.mark.parametrize("seed", range(20))
def test_no_score_ever_meets_another_event(seed: int) -> None:
    chance = random.Random(seed)
    blocks: list[list[Any]] = [
        [chance.choice([BAD, TOMBSTONE, f"e{n}-{i}", f"f{n}-{i}"]) for i in range(chance.randrange(1, 6))]
        for n in range(chance.randrange(1, 6))
    ]
    batch = batch_of(*blocks)
    scores = [("score of", event) for event in scorable(batch)]
    expected = [[("score of", e) if isinstance(e, str) else e for e in events] for events in blocks]
    assert joined(batch, scores) == expected
