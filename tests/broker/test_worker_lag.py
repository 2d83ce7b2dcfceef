"""A worker's own word for its lag beside `pelton lag` and Kafka's own tool, wherever the tool is right."""

import time
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from .conftest import Serve, settings_for
from .outside import Hold, Outside, Record, event
from .served import Served
from .told_lag import Group, in_transaction

PLAIN, MARKER, ABORTED, OPEN, DELETED, IDLE = range(6)
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}


def told(served: Served) -> dict[tuple[str, int], tuple[int, float]]:
    """Return records and seconds of each partition, by `/status`."""
    held = served.worker()["partitions"]
    return {(at["topic"], at["partition"]): (at["lag"], at["lag_s"]) for at in held}


def write_all(outside: Outside, topic: str) -> Any:
    """Bring a partition into each state; return the producer whose transaction is open."""
    for number, n in ((PLAIN, 20), (OPEN, 5), (DELETED, 50)):
        outside.send(topic, *[Record(event(x), partition=number) for x in range(n)])
    place = TopicPartition(topic, DELETED, 50)
    outside.admin.delete_records([place])[TopicPartition(topic, DELETED)].result(20)
    in_transaction(outside, topic, 10, end="commit", partition=MARKER)
    in_transaction(outside, topic, 10, end="commit", partition=ABORTED)
    in_transaction(outside, topic, 5, end="abort", partition=ABORTED)
    return in_transaction(outside, topic, 10, end="open", partition=OPEN, timeout_s=120)


@pytest.mark.timeout(120, func_only=True)
def test_b15_b16_a_worker_its_command_and_kafkas_tool_agree(
    serve: Serve, outside: Outside, topic_factory: Any, hold: Hold
) -> None:
    topic, sink = topic_factory(6, prefix="events"), topic_factory(6, prefix="scores")
    stream = {"topics": [topic], "group": f"group-of-{topic}", "sink": sink, "dead_letter": topic_factory(1)}
    health = {"lag_window_s": 2, "unready_after_s": 0.5}
    settings = settings_for(outside.brokers, "obedient", stream, health=health)
    group = Group(outside, topic, stream["group"])
    writer = write_all(outside, topic)
    nothing = {(topic, number): (0, 0.0) for number in range(6)}

    served = serve(settings=settings)
    served.eventually(lambda: served.metric("pelton_scored_total") == 20 + 10 + 10 + 5 and told(served) == nothing)
    # What was never committed, because there was nothing to read, is told of while somebody holds it.
    assert group.by_partition() == nothing
    assert group.kafkas_own()[PLAIN] == 0
    assert served.stop() == 0

    served = serve(settings=settings)  # nothing is new, so no position tells where it stands
    served.eventually(lambda: told(served) == nothing)
    assert served.health("ready") == (200, [])
    assert served.metric("pelton_records_total") == 0

    began_s = time.time()
    outside.send(topic, *[Record(event(x, hold=hold.file), partition=PLAIN) for x in range(7)])
    served.eventually(lambda: told(served)[topic, PLAIN][0] == 7)
    assert (group.by_partition()[topic, PLAIN][0], group.kafkas_own()[PLAIN]) == (7, 7)
    served.eventually(lambda: told(served)[topic, PLAIN][1] >= 2)
    ours_s, theirs_s = told(served)[topic, PLAIN][1], group.by_partition()[topic, PLAIN][1]
    assert max(ours_s, theirs_s) <= time.time() - began_s + 0.001
    assert served.metric("pelton_lag_seconds") >= 2
    # A batch in the model is no stall, however short the window is: it may take `stall_s`.
    waiting = {"verdict": "ok", "reason": f"{topic}/0: 7 records wait for the batch in the model", "unready": ""}
    served.eventually(lambda: served.worker()["lag"] == waiting)
    assert served.health("ready") == (200, [])
    hold.release()
    writer.commit_transaction(20)
    served.eventually(lambda: served.metric("pelton_scored_total") == 17 and told(served) == nothing)
    assert group.by_partition() == nothing
    assert group.kafkas_own()[PLAIN] == 0


@pytest.mark.timeout(120, func_only=True)
def test_b16_holes_of_compaction_are_passed_and_lag_reaches_zero(
    serve: Serve, outside: Outside, topic_factory: Any
) -> None:
    topic = topic_factory(1, COMPACTED, prefix="compacted")
    for x in range(3):
        outside.send(topic, *[Record(event(x), f"k{n}".encode()) for n in range(30)])
    end = outside.ends(topic)[0]
    deadline_s = time.monotonic() + 60
    while (left := len(outside.read(topic))) == end:
        # Only segments that are closed are compacted, and a write closes one.
        assert time.monotonic() < deadline_s, "nothing was compacted"
        outside.send(topic, Record(event(0), b"k0"))
        end = outside.ends(topic)[0]
        time.sleep(0.2)
    stream = {
        "topics": [topic],
        "group": f"group-of-{topic}",
        "sink": topic_factory(1),
        "dead_letter": topic_factory(1),
    }
    served = serve(settings=settings_for(outside.brokers, "obedient", stream))
    served.eventually(lambda: served.metric("pelton_scored_total") > 0 and told(served) == {(topic, 0): (0, 0.0)})
    assert served.metric("pelton_scored_total") <= left
    group = Group(outside, topic, stream["group"])
    served.eventually(lambda: group.by_partition() == {(topic, 0): (0, 0.0)})
    assert group.kafkas_own() == [0]
