"""What the sink would refuse is known before it is produced, wherever its settings tell."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from pelton.schemas.topic_limits import TopicLimits

MAKE = Callable[..., Any]
HOUR_MS = 3_600_000


def refuse_all(message: Any) -> None:
    raise AssertionError(f"{message.topic()} was asked")


def test_b28_null_key_on_a_compacted_sink_is_set_aside_alone(rig: MAKE, records: MAKE) -> None:
    road = rig(key="input-key", limits=TopicLimits(compacted=True))
    asked: list[Any] = []
    road.kafka.refuse = lambda message: asked.append((message.topic(), message.key())) or None
    road.sink.write(records(range(4), keys=[b"a", None, b"", b"c"]), [0.0, 1.0, 2.0, 3.0])
    (safe,) = road.settle()
    assert (sorted(road.scores), road.dead) == ([(0, 0.0), (2, 2.0), (3, 3.0)], [(1, "invalid")])
    assert safe.refused == {"invalid": 1}
    assert ("scores", None) not in asked


@pytest.mark.parametrize(("key", "compacted"), [("event-id", True), ("position", True), ("input-key", False)])
def test_a_key_that_is_not_needed_or_always_there_is_not_missed(
    rig: MAKE, records: MAKE, key: str, compacted: bool
) -> None:
    road = rig(key=key, limits=TopicLimits(compacted=compacted))
    road.sink.write(records([0], keys=[None]), [0.5])
    road.settle()
    assert (road.scores, road.dead) == ([(0, 0.5)], [])


def test_b28_timestamp_out_of_the_sinks_bounds_is_set_aside_alone(rig: MAKE, records: MAKE) -> None:
    now_ms = int(time.time() * 1000)
    stamps_ms = [now_ms - 2 * HOUR_MS, now_ms - HOUR_MS // 2, 0, now_ms + HOUR_MS // 4, now_ms + HOUR_MS]
    road = rig(timestamp="event", limits=TopicLimits(before_max_ms=HOUR_MS, after_max_ms=HOUR_MS // 2))
    road.sink.write(records(range(5), stamps_ms=stamps_ms), [float(n) for n in range(5)])
    road.settle()
    assert sorted(road.scores) == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert road.dead == [(0, "invalid"), (4, "invalid")]
    (first, _) = road.kafka.read("dead")
    assert str(stamps_ms[0]) in dict(first.headers())["__connect.errors.exception.message"].decode()


def test_the_producers_clock_is_always_within_bounds(rig: MAKE, records: MAKE) -> None:
    road = rig(limits=TopicLimits(before_max_ms=0, after_max_ms=0))
    road.sink.write(records([0], stamps_ms=[5]), [0.5])
    road.settle()
    assert (road.scores, road.dead) == ([(0, 0.5)], [])


@pytest.mark.parametrize("part", ["value", "key"])
def test_b28_a_score_beyond_the_topics_limit_is_not_sent_at_all(rig: MAKE, records: MAKE, part: str) -> None:
    road = rig(key="input-key", limits=TopicLimits(max_bytes=20_000))
    road.kafka.refuse = lambda message: refuse_all(message) if len(message.value()) > 19_000 else None
    large = part == "value"
    keys = [b"a", b"b" if large else b"b" * 30_000, b"c"]
    road.sink.write(records(range(3), keys=keys), [0.0, "x" * 30_000 if large else 1.0, 2.0])
    road.settle()
    assert (sorted(road.scores), road.dead) == ([(0, 0.0), (2, 2.0)], [(1, "too_large")])
