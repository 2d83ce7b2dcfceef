"""The road of a record, from the topic to the committed offset; only Kafka is a fake."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from pelton.consumers.cost import Cost
from pelton.errors import BrokerUnavailable, DeviceLost
from pelton.loop import Totals
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection

MAKE = Callable[..., Any]
GENERATION = KafkaError(KafkaError.ILLEGAL_GENERATION, "Broker: Specified group generation id is not valid")
NO_REPLICAS = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "Broker: Not enough in-sync replicas")


def metric(walk: Any, name: str) -> dict[str, float]:
    """Values of a metric by its labels, as they are exposed, those of zero left out."""
    lines = walk.loop.metrics.exposition().splitlines()
    found = [line.rpartition(" ") for line in lines if line.startswith((f"pelton_{name} ", f"pelton_{name}{{"))]
    return {name.partition("{")[2].rstrip("}"): float(value) for name, _, value in found if float(value)}


def test_every_record_is_scored_and_then_committed(road: MAKE) -> None:
    walk = road()
    for partition, numbers in ((0, [0.5, 1.5]), (3, [2.0])):
        walk.write(*numbers, partition=partition)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(0, 1.0), (1, 3.0)], 3: [(0, 4.0)]}
    assert [walk.committed(n) for n in range(4)] == [2, None, None, 1]
    assert walk.loop.totals == Totals(records=3, scored=3, dead_letters=0)
    assert (metric(walk, "records_total"), metric(walk, "scored_total")) == ({"": 3.0}, {"": 3.0})
    assert walk.dead == []


def test_b02_an_undecodable_event_costs_itself_alone(road: MAKE) -> None:
    walk = road()
    walk.write(0, 1, 2, 3, 4, {"x": "abc"}, 6, 7)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(n, 2.0 * n) for n in (0, 1, 2, 3, 4, 6, 7)]}
    assert walk.dead == [(0, 5, "invalid")]
    assert walk.committed() == 8
    assert walk.loop.totals == Totals(records=8, scored=7, dead_letters=1)
    assert metric(walk, "dead_letters_total") == {'code="invalid"': 1.0}


@pytest.mark.parametrize("stage", ["prepare", "forward", "finish"])
def test_b02_a_record_the_model_raises_on_costs_itself_alone(road: MAKE, stage: str) -> None:
    walk = road("raiser")
    walk.write(*({"x": n} | ({"mark": stage} if n == 5 else {}) for n in range(8)))
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(n, 2.0 * n) for n in (0, 1, 2, 3, 4, 6, 7)]}
    assert walk.dead == [(0, 5, "model_error")]
    assert walk.committed() == 8
    (dead,) = walk.kafka.read("dead")
    assert f"cannot {stage} this one" in dict(dead.headers())["__connect.errors.exception.message"].decode()


def test_b03_bytes_that_are_no_event_pass_and_hold_nothing_up(road: MAKE) -> None:
    walk = road()
    bad = [b"not json", b"", b'{"a":', b"[1,2]", b"\xff\xfe"]
    walk.write(*bad, 1, 2, 3)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(5, 2.0), (6, 4.0), (7, 6.0)]}
    assert [offset for _, offset, _ in walk.dead] == [0, 1, 2, 3, 4]
    assert [message.value() for message in walk.kafka.read("dead")] == bad
    assert walk.committed() == 8


def test_b11_null_empty_and_json_null_are_three_different_things(road: MAKE) -> None:
    walk = road()
    for key, value in ((b"k1", None), (b"k2", b""), (b"k3", b"null"), (None, None), (b"k5", b'{"x": 1}')):
        walk.write(value, key=key)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(4, 2.0)]}
    assert walk.dead == [(0, 1, "malformed"), (0, 2, "malformed")]
    assert [message.key() for message in walk.kafka.read("dead")] == [b"k2", b"k3"]
    assert walk.committed() == 5
    assert metric(walk, "tombstones_total") == {"": 2.0}
    assert walk.loop.totals == Totals(records=5, scored=1, dead_letters=2)


def test_b11_tombstones_pass_on_to_a_table_of_scores(road: MAKE) -> None:
    walk = road(stream={"key": "input-key", "tombstones": "pass"})
    for key, value in ((b"k", b'{"x": 1}'), (b"k", None), (None, None), (b"\xff", b'{"x": 2}')):
        walk.write(value, key=key)
    walk.walk()
    walk.commit()
    found = [(m.key(), m.value() and json.loads(m.value())["score"]) for m in walk.kafka.read("out")]
    assert found == [(b"k", 2.0), (b"k", None), (b"\xff", 4.0)]
    assert walk.committed() == 4


def test_b12_nothing_but_strict_json_leaves_and_neighbours_are_unharmed(road: MAKE) -> None:
    walk = road()
    walk.write(b'{"x": NaN}', 1, b'{"x": Infinity}', b'{"x": 1e400}', 1e39, -1e39, 2, b'{"x": -Infinity}')
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(1, 2.0), (6, 4.0)]}
    assert sorted(walk.dead) == [(0, offset, "not_finite") for offset in (0, 2, 3, 4, 5, 7)]
    assert walk.committed() == 8
    for message in walk.kafka.read("out"):
        json.loads(message.value(), parse_constant=pytest.fail)


def test_b12_scores_that_are_not_finite_are_dead_letters(road: MAKE) -> None:
    walk = road("nan-giver")
    walk.write(1, {"x": 2, "give": "nan"}, 3, {"x": 4, "give": "inf"}, {"x": 5, "give": "-inf"}, 6)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(0, 2.0), (2, 6.0), (5, 12.0)]}
    assert sorted(walk.dead) == [(0, offset, "model_error") for offset in (1, 3, 4)]
    assert walk.committed() == 6


def test_b24_a_limit_in_events_splits_what_a_poll_brought_and_keeps_its_order(road: MAKE) -> None:
    walk = road(batch={"max_size": 32})
    for partition in range(4):
        walk.write(*range(88), partition=partition)
    walk.walk(3)
    walk.commit()
    assert walk.scores == {partition: [(n, 2.0 * n) for n in range(88)] for partition in range(4)}
    assert walk.model.batches == [32] * 11
    assert [walk.committed(n) for n in range(4)] == [88] * 4


def test_b24_what_is_no_event_is_never_measured_by_the_models_size(road: MAKE) -> None:
    walk = road(batch={"max_cost": 3}, join=False)
    walk.loop.batcher._cost = Cost(3, lambda event: 1 if event.x < 100 else 2)
    walk.loop.source.join(walk.handover)
    walk.write(1, b"not json", None, 200, 3, 4)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(0, 2.0), (3, 400.0), (4, 6.0), (5, 8.0)]}
    assert walk.model.batches == [2, 2]
    assert walk.committed() == 6


def test_b04_nothing_is_committed_that_the_broker_has_not_confirmed(road: MAKE) -> None:
    walk = road()
    walk.write(1, 2, 3)
    walk.kafka.reachable = False
    walk.walk(5)
    walk.commit()
    assert not walk.committed()
    assert walk.loop.totals.scored == 0
    walk.kafka.reachable = True
    walk.walk()
    walk.commit()
    assert walk.committed() == 3


def test_b04_the_commit_stays_below_the_lowest_record_that_is_not_safe(road: MAKE) -> None:
    """Blocks of one partition of which the first waits at the dead-letter topic, and over holes of compaction."""
    walk = road()
    walk.kafka.stalled = {("dead", 0)}
    walk.write(b"not json", offset=10)
    walk.walk()
    walk.write(1, 2, offset=None)
    walk.write(3, offset=40)
    walk.walk()
    walk.commit()
    assert walk.scores == {0: [(11, 2.0), (12, 4.0), (40, 6.0)]}
    assert walk.committed() == 10
    assert walk.loop.progress.oldest_unfinished_s > 0
    walk.kafka.stalled.clear()
    walk.walk()
    walk.commit()
    assert walk.committed() == 41
    assert walk.loop.progress.oldest_unfinished_s == 0


def test_b08_a_delivery_that_is_refused_ends_the_worker_uncommitted(road: MAKE) -> None:
    walk = road()
    walk.write(1)
    walk.walk()
    walk.commit()
    walk.write(2, 3)
    walk.kafka.refuse = lambda message: NO_REPLICAS if message.topic() == "out" else None
    with pytest.raises(BrokerUnavailable):
        walk.walk(3)
    walk.commit()
    assert walk.committed() == 1
    assert walk.dead == []


def test_b08_a_refused_score_is_one_dead_letter_and_everything_is_committed(road: MAKE) -> None:
    walk = road()
    invalid = KafkaError(KafkaError.INVALID_RECORD, "no")

    def refuse(message: Message) -> KafkaError | None:
        return invalid if message.topic() == "out" and b'"offset":2}' in message.value() else None

    walk.kafka.refuse = refuse
    walk.write(0, 1, 2, 3)
    walk.walk(3)
    walk.commit()
    assert sorted(set(walk.scores[0])) == [(0, 0.0), (1, 2.0), (3, 6.0)]
    assert walk.dead == [(0, 2, "invalid")]
    assert walk.committed() == 4
    assert walk.loop.totals == Totals(records=4, scored=3, dead_letters=1)


def test_b19_a_refused_commit_is_offered_again_and_nothing_is_scored_twice(road: MAKE) -> None:
    walk = road()
    walk.write(1, 2)
    walk.walk()
    walk.kafka.refuse_commit = lambda _: GENERATION
    walk.loop.commit()
    walk.walk()
    before = walk.committed()
    walk.kafka.refuse_commit = lambda _: None
    walk.loop.commit()
    assert (before or 0, walk.committed()) == (0, 2)
    walk.write(3)
    walk.walk()
    walk.commit()
    assert walk.committed() == 3
    assert walk.scores == {0: [(0, 2.0), (1, 4.0), (2, 6.0)]}


def test_a_commit_that_moves_nothing_is_not_sent(road: MAKE) -> None:
    walk = road()
    walk.write(1)
    walk.walk()
    walk.commit()
    n_commits = len(walk.kafka.commits)
    walk.walk(3)
    walk.commit()
    assert len(walk.kafka.commits) == n_commits


def test_commits_follow_by_themselves_once_their_time_has_come(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.commits.COMMIT_EVERY_S", 0.0)
    walk = road()
    walk.write(1)
    walk.walk(3)
    assert walk.committed() == 1


def test_b42_a_dead_device_ends_the_worker_with_nothing_written_of_the_batch(
    road: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = road()
    walk.write(1)
    walk.walk()

    def forward(_inputs: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(walk.model, "forward", forward)
    walk.write(2, 3)
    with pytest.raises(DeviceLost):
        walk.walk()
    walk.commit()
    assert (walk.scores, walk.dead, walk.committed()) == ({0: [(0, 2.0)]}, [], 1)


def test_b46_ten_thousand_events_pass_a_small_producer_queue_once_each_and_in_order(road: MAKE) -> None:
    walk = road(kafka={"queue.buffering.max.messages": 100})
    walk.write(*range(10_000))
    walk.walk(40)
    walk.commit()
    assert walk.scores == {0: [(n, 2.0 * n) for n in range(10_000)]}
    assert walk.committed() == 10_000
    assert walk.loop.totals == Totals(records=10_000, scored=10_000, dead_letters=0)
    assert len(walk.kafka.producers) == 1


def test_b33_bytes_that_are_not_text_go_from_end_to_end(road: MAKE) -> None:
    walk = road(stream={"key": "input-key", "forward_headers": ["note"]})
    note = [("note", b"\xc3\x28")]
    walk.write(1, b"not json", key=b"\x00\x83\xff", headers=note)
    walk.write({"x": 2, "\U0001f600": "\U0001f600"}, key=b"k" * 65_536, headers=note)
    walk.write(3, b"not json", key=b"\xff", headers=note, readable=False)
    walk.walk()
    walk.commit()
    scores, dead = walk.kafka.read("out"), walk.kafka.read("dead")
    assert [(m.key(), m.headers()) for m in scores] == [
        (b"\x00\x83\xff", note),
        (b"k" * 65_536, note),
        (b"\xff", None),
    ]
    assert [m.key() for m in dead] == [b"\x00\x83\xff", b"\xff"]
    assert dict(dead[0].headers())["note"] == b"\xc3\x28"
    assert walk.committed() == 5


def test_progress_tells_what_is_going_on(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = road()
    progress = walk.loop.progress
    assert progress.poll_beat_s == progress.batch_finished_s == 0
    started: list[float] = []
    prepare = walk.model.prepare
    monkeypatch.setattr(walk.model, "prepare", lambda e: started.append(progress.batch_started_s) or prepare(e))
    walk.write(1)
    walk.walk()
    assert progress.poll_beat_s > 0
    assert 0 < started[0] <= progress.batch_finished_s
    assert progress.batch_started_s == 0


def test_records_that_are_no_event_are_counted_by_code_once_each(road: MAKE) -> None:
    walk = road(batch={"max_size": 4})
    walk.write(1.0, b"{", b"[", {"x": "a"}, None, 2.0)
    walk.walk()
    assert metric(walk, "decode_failures_total") == {'code="malformed"': 2.0, 'code="invalid"': 1.0}
    assert metric(walk, "dead_letters_total") == metric(walk, "decode_failures_total")


def test_a_record_that_the_model_refuses_is_no_decode_failure(road: MAKE) -> None:
    walk = road("raiser")
    walk.write(1.0, {"x": 3.0, "mark": "forward"}, 2.0)
    walk.walk()
    assert metric(walk, "dead_letters_total") == {'code="model_error"': 1.0}
    assert metric(walk, "decode_failures_total") == {}


def test_a_record_set_aside_undecoded_for_what_the_model_did_is_no_decode_failure(road: MAKE) -> None:
    walk = road()
    walk.write(1.0, 2.0)
    walk.loop.turn(0)
    walk.loop.batcher.head.events[0] = Rejection(Code.MODEL_ERROR, "it killed the process", "forward", "Poison")
    walk.walk()
    assert metric(walk, "dead_letters_total") == {'code="model_error"': 1.0}
    assert metric(walk, "decode_failures_total") == {}


def test_a_commit_lasts_until_the_broker_has_answered(road: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    walk, stamps = road(), iter([10.0, 12.5])
    walk.write(1.0)
    walk.walk()
    walk.loop.source.ledger.took_s.clear()  # the marks were committed too, when the partitions came
    monkeypatch.setattr("pelton.consumers.ledger.time", SimpleNamespace(monotonic=lambda: next(stamps)))
    walk.loop.commit()
    walk.loop.commit()
    assert metric(walk, "commit_seconds_count") == {}
    walk.loop.turn(0)
    walk.loop.commit()
    assert metric(walk, "commit_seconds_count") == {"": 1.0}
    assert metric(walk, "commit_seconds_sum") == {"": 2.5}


def test_batches_are_measured_once_each(road: MAKE) -> None:
    walk = road(batch={"max_size": 4})
    walk.write(*range(10))
    walk.walk()
    lane = 'lane="stream"'
    assert metric(walk, "batches_total") == {f'{lane},reason="size"': 2.0, f'{lane},reason="wait"': 1.0}
    assert metric(walk, "batch_size_sum") == {lane: 10.0}
    assert metric(walk, "batch_wait_seconds_count") == {lane: 3.0}
    assert metric(walk, "batch_fill_ratio_sum") == {lane: 1.0 + 1.0 + 0.5}
    assert metric(walk, "produce_seconds_count") == {"": 3.0}
