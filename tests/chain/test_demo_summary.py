"""The demo's checks find what they are there to find: one test for each way to be wrong."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest

from pelton.demo_records import DeadLetter, Planned, Scored, Sent, read_dead_letter, read_score
from pelton.demo_summary import CHECKS, Evidence, areas, auc, check
from pelton.schemas.codes import Code

BY_POSITION, BY_ID, ROAD, KEYS, CODES_OF, SCORES, AUC = CHECKS


def good() -> Evidence:
    """Return forty events over two partitions, of which each tenth is broken, and what should come of them."""
    rng = random.Random(7)
    sent = [
        Sent(
            Planned(f"F{i}", b"{%d}" % i, Code.INVALID if i % 10 == 3 else None, rng.random() < 0.3),
            ("flights", i % 2, i // 2),
            1000 + i,
        )
        for i in range(40)
    ]
    offline = {s.planned.key: rng.random() for s in sent if not s.planned.code}
    return Evidence(
        sent,
        [
            Scored(s.planned.key.encode(), s.planned.key, s.position, offline[s.planned.key], 2000)
            for s in sent
            if not s.planned.code
        ],
        [DeadLetter(s.planned.key.encode(), s.planned.value, s.position, "invalid") for s in sent if s.planned.code],
        offline,
    )


def found(evidence: Evidence) -> set[str]:
    return {finding.check for finding in check(evidence)}


def with_score(row: int, **changes: Any) -> Evidence:
    evidence = good()
    scored = list(evidence.scored)
    scored[row] = replace(scored[row], **changes)
    return replace(evidence, scored=scored)


def with_dead_letter(row: int, **changes: Any) -> Evidence:
    evidence = good()
    dead = list(evidence.dead)
    dead[row] = replace(dead[row], **changes)
    return replace(evidence, dead=dead)


def test_a_right_run_has_no_findings() -> None:
    assert check(good()) == []


def test_order_does_not_matter() -> None:
    evidence = good()
    assert check(replace(evidence, scored=evidence.scored[::-1], dead=evidence.dead[::-1])) == []


def test_a_missing_score_is_found() -> None:
    evidence = good()
    findings = check(replace(evidence, scored=evidence.scored[1:]))
    assert {BY_POSITION, BY_ID} <= {finding.check for finding in findings}
    by_id = next(finding for finding in findings if finding.check == BY_ID)
    assert str(by_id) == "1 events without a score or a dead letter, such as F0"


def test_a_missing_dead_letter_is_found() -> None:
    evidence = good()
    assert found(replace(evidence, dead=evidence.dead[1:])) == {BY_POSITION, BY_ID}


def test_a_doubled_score_is_found_also_when_it_is_equal() -> None:
    evidence = good()
    findings = check(replace(evidence, scored=[*evidence.scored, evidence.scored[5]]))
    assert {f.check for f in findings if "more than one" in f.what} == {BY_POSITION, BY_ID}


def test_a_doubled_dead_letter_is_found() -> None:
    evidence = good()
    assert found(replace(evidence, dead=[*evidence.dead, evidence.dead[0]])) == {BY_POSITION, BY_ID}


def test_a_score_and_a_dead_letter_for_one_event_is_found() -> None:
    evidence = good()
    both = DeadLetter(b"F0", b"{0}", ("flights", 0, 0), "invalid")
    assert found(replace(evidence, dead=[*evidence.dead, both])) == {BY_POSITION, BY_ID, ROAD}


def test_one_missing_and_another_doubled_do_not_cancel_out() -> None:
    evidence = good()
    findings = check(replace(evidence, scored=[*evidence.scored[1:], evidence.scored[5]]))
    assert {f.what.split(" ", 1)[1] for f in findings if f.check == BY_POSITION} == {
        "records without a score or a dead letter",
        "records with more than one score or dead letter",
    }


def test_scores_swapped_between_events_are_found() -> None:
    evidence = good()
    first, second, *others = evidence.scored
    swapped = [
        replace(first, key=second.key, event_id=second.event_id),
        replace(second, key=first.key, event_id=first.event_id),
    ]
    assert ROAD in found(replace(evidence, scored=[*swapped, *others]))


@pytest.mark.parametrize("key", [b"F1", b"", None, b"flights/0/0"])
def test_a_record_key_that_is_not_the_event_id_is_found(key: bytes | None) -> None:
    assert found(with_score(0, key=key)) == {KEYS}


def test_an_event_id_that_was_never_sent_is_found() -> None:
    assert {BY_ID, ROAD, KEYS} <= found(with_score(0, event_id="F9999"))


def test_a_position_that_was_never_sent_is_found() -> None:
    assert found(with_score(0, position=("flights", 3, 0))) == {BY_POSITION}


def test_a_sink_record_that_is_no_score_is_found() -> None:
    assert {BY_POSITION, BY_ID, KEYS, SCORES} <= found(with_score(0, event_id=None, position=None, score=math.nan))


@pytest.mark.parametrize("changes", [{"key": b"F0"}, {"key": None}, {"value": b""}, {"value": None}])
def test_a_dead_letter_that_is_not_the_original_is_found(changes: dict[str, Any]) -> None:
    assert KEYS in found(with_dead_letter(0, **changes))


def test_a_wrong_code_is_found() -> None:
    assert found(with_dead_letter(0, code="malformed")) == {CODES_OF}


def test_a_broken_record_that_was_scored_is_found() -> None:
    evidence = good()
    letter = evidence.dead[0]
    score = Scored(letter.key, "F3", letter.position, 0.5, 2000)
    assert ROAD in found(replace(evidence, dead=evidence.dead[1:], scored=[*evidence.scored, score]))


def test_an_intact_event_among_the_dead_letters_is_found() -> None:
    evidence = good()
    letter = DeadLetter(b"F0", b"{0}", ("flights", 0, 0), "model_error")
    assert ROAD in found(replace(evidence, scored=evidence.scored[1:], dead=[*evidence.dead, letter]))


def test_a_key_sent_twice_is_found() -> None:
    evidence = good()
    again = replace(evidence.sent[0], position=("flights", 0, 99))
    assert BY_ID in found(replace(evidence, sent=[*evidence.sent, again]))


def test_a_score_off_the_offline_one_is_found_before_the_auc_sees_it() -> None:
    evidence = good()
    near, far = (evidence.scored[4].score + distance for distance in (0.9e-6, 1.1e-6))
    assert check(with_score(4, score=near)) == []
    assert found(with_score(4, score=far)) == {SCORES}
    assert found(with_score(4, score=math.nan)) == {SCORES, AUC}


def test_an_auc_off_the_offline_one_is_found() -> None:
    evidence = good()
    online, offline = areas(evidence)
    assert online == offline
    turned = [replace(scored, score=1 - scored.score) for scored in evidence.scored]
    assert found(replace(evidence, scored=turned)) == {SCORES, AUC}
    assert areas(replace(evidence, scored=turned))[0] == pytest.approx(1 - offline)


def test_nothing_at_all_is_not_a_success() -> None:
    assert found(Evidence([], [], [], {})) == {AUC}


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = random.Random(3)
    pairs = [(rng.random() < 0.4, round(rng.random(), 1)) for _ in range(300)]
    positives = [score for label, score in pairs if label]
    negatives = [score for label, score in pairs if not label]
    won = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    assert auc(pairs) == pytest.approx(won / (len(positives) * len(negatives)), abs=1e-12)
    assert auc([(True, 1.0), (False, 0.0)]) == 1.0
    assert math.isnan(auc([(True, 1.0)]))


class Record:
    """A stand-in for a message of the client."""

    def __init__(self, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]] | None = None):
        self.key = lambda: key
        self.value = lambda: value
        self.headers = lambda: headers
        self.timestamp = lambda: (1, 1234)


def test_a_score_is_read_from_the_wire() -> None:
    value = {
        "event_id": "F1",
        "model": "m",
        "version": "1@0",
        "source": {"topic": "t", "partition": 2, "offset": 3},
        "event_time": "2013",
        "score": 0.25,
    }
    read = read_score(Record(b"F1", json.dumps(value).encode()))  # type: ignore[arg-type]
    assert read == Scored(b"F1", "F1", ("t", 2, 3), 0.25, 1234)


@pytest.mark.parametrize("value", [None, b"", b"null", b"{}", b"\xff", b'{"event_id":"F1","score":"high"}'])
def test_what_is_no_score_is_read_as_one_without_an_event(value: bytes | None) -> None:
    read = read_score(Record(b"F1", value))  # type: ignore[arg-type]
    assert (read.key, read.event_id, read.position) == (b"F1", None, None)
    assert math.isnan(read.score)


def test_a_dead_letter_is_read_from_its_headers() -> None:
    headers = [
        ("__connect.errors.topic", b"t"),
        ("__connect.errors.partition", b"2"),
        ("__connect.errors.offset", b"3"),
        ("pelton-error-code", b"malformed"),
    ]
    read = read_dead_letter(Record(None, b"\xff", headers))  # type: ignore[arg-type]
    assert read == DeadLetter(None, b"\xff", ("t", 2, 3), "malformed")


@pytest.mark.parametrize("headers", [None, [("__connect.errors.topic", b"t")], [("pelton-error-code", b"\xff")]])
def test_a_dead_letter_without_its_place_is_read_as_one_without(headers: list[tuple[str, bytes]] | None) -> None:
    assert read_dead_letter(Record(b"k", b"v", headers)).position is None  # type: ignore[arg-type]
