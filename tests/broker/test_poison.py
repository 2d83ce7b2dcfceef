"""A record that kills the process, with real workers that really die of it."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from .conftest import Serve
from .outside import Hold, Outside, Position, Record, event
from .served import Served

PARTITIONS = 4
SOON_MISSED = {"session.timeout.ms": 1500}
SOON_BACK = {"first_s": 0.05, "max_s": 0.1}


def deaths(*served: Served) -> int:
    return sum(state == "restarting" for each in served for state in each.states())


def good(n: int) -> list[Record]:
    return [Record(event(i), partition=i % PARTITIONS) for i in range(n)]


def notes(outside: Outside, served: Served) -> list[str]:
    consumer = Consumer({"bootstrap.servers": outside.brokers, "group.id": served.group})
    found = consumer.committed([TopicPartition(served.source, number) for number in range(PARTITIONS)], timeout=10)
    consumer.close()
    return [at.metadata or "" for at in found]


def check_scores(outside: Outside, served: Served, sent: list[Position]) -> None:
    scores = {at: set(found) for at, found in outside.scores(served.sink).items()}
    assert scores == {at: {2.0 * i} for i, at in enumerate(sent)}


def check_letter(outside: Outside, served: Served, culprit: Record, at: Position, starts: int) -> None:
    (letter,) = outside.read(served.dead_letter)
    headers = dict(letter.headers())
    assert (letter.value(), letter.key(), headers["trace"]) == (culprit.value, culprit.key, b"\x00\x01")
    place = [headers[f"__connect.errors.{name}"].decode() for name in ("topic", "partition", "offset")]
    assert Position(place[0], int(place[1]), int(place[2])) == at
    assert (headers["pelton-error-code"], headers["pelton-attempts"]) == (b"model_error", str(starts).encode())
    assert headers["__connect.errors.exception.class.name"] == b"ProcessDied"


@pytest.mark.parametrize(("static_id", "die"), [(None, "exit"), ("twin", "fault")])
def test_b03_a_record_that_kills_the_process_is_set_aside(
    serve: Serve, outside: Outside, static_id: str | None, die: str
) -> None:
    served = serve(
        partitions=PARTITIONS,
        sink_partitions=PARTITIONS,
        stream={"static_id": static_id},
        kafka=SOON_MISSED,
        restart=SOON_BACK,
    )
    culprit = Record(event(7, die=die), b"\xff key", [("trace", b"\x00\x01")], partition=2)
    records = good(2_000)
    sent = outside.send(served.source, *records[:1_000], culprit, *records[1_000:])
    at = sent.pop(1_000)
    served.eventually(lambda: outside.finished(served.group, served.source), within_s=50)
    check_scores(outside, served, sent)
    check_letter(outside, served, culprit, at, starts=3)
    assert 3 <= deaths(served) <= 4

    later, batches = good(22_000)[2_000:], served.metric("pelton_batches_total")
    sent += outside.send(served.source, *later, **{"linger.ms": 20})
    served.eventually(lambda: outside.finished(served.group, served.source))
    # Nobody is tried alone any more.
    assert served.metric("pelton_batches_total") - batches < len(later) / 4
    check_scores(outside, served, sent)
    assert notes(outside, served) == [""] * PARTITIONS


@pytest.mark.timeout(90)
def test_b03_b05_a_record_that_never_leaves_the_model_is_set_aside(serve: Serve, outside: Outside, hold: Hold) -> None:
    served = serve(
        partitions=PARTITIONS,
        sink_partitions=PARTITIONS,
        kafka=SOON_MISSED,
        restart=SOON_BACK,
        health={"stall_s": 1},
        poison_starts=2,
    )
    culprit = Record(event(7, hold=hold.file), b"\xff key", [("trace", b"\x00\x01")], partition=2)
    records = good(200)
    sent = outside.send(served.source, *records[:100], culprit, *records[100:])
    at = sent.pop(100)
    served.eventually(lambda: outside.finished(served.group, served.source), within_s=80)
    check_scores(outside, served, sent)
    check_letter(outside, served, culprit, at, starts=2)
    assert 2 <= deaths(served) <= 3


@pytest.mark.chaos
@pytest.mark.timeout(120, func_only=True)
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_b03_b10_a_batch_that_outlasts_its_workers_time_to_drain_is_not_taken_for_a_death(
    serve: Serve, outside: Outside, hold: Hold, delivery: str
) -> None:
    """Told to end in its middle twice, each time by the book: the third one has nothing to suspect."""
    served = serve(poison_starts=2, drain_s=3, kafka=SOON_MISSED, delivery=delivery)
    (at,) = outside.send(served.source, Record(event(7, hold=hold.file)))
    for _ in range(2):
        served.eventually(hold.reached)
        hold.forget()
        assert served.stop() == 0
        served = serve(settings=served.settings)
    served.eventually(hold.reached)
    hold.release()
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert set(outside.scores(served.sink)[at]) == {14.0}
    assert outside.letters(served.dead_letter) == []
    assert served.log("partitions_suspect") == []


def test_b03_the_count_follows_the_partition_to_the_other_member(serve: Serve, outside: Outside) -> None:
    late = {"first_s": 4, "max_s": 4}  # the group has noticed by then, and the other member has the partition
    first = serve(partitions=PARTITIONS, sink_partitions=PARTITIONS, kafka=SOON_MISSED, restart=late, poison_starts=2)
    second = serve(settings=first.settings)
    records = good(2_000)
    sent = outside.send(first.source, *records[:1_000])
    first.eventually(lambda: outside.finished(first.group, first.source))
    culprit = Record(event(7, die="exit"), b"\xff key", [("trace", b"\x00\x01")], partition=2)
    sent += outside.send(first.source, culprit, *records[1_000:])
    at = sent.pop(1_000)
    first.eventually(lambda: outside.finished(first.group, first.source), within_s=50)
    check_scores(outside, first, sent)
    check_letter(outside, first, culprit, at, starts=2)
    assert 2 <= deaths(first, second) <= 3
    assert min(deaths(first), deaths(second)) >= 1
    assert notes(outside, first) == [""] * PARTITIONS
