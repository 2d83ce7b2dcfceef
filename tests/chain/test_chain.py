"""The chain: a steady stream while workers come, die and leave. Nothing is lost, and what is double is the same."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from confluent_kafka import Message

from tests.broker.conftest import Serve
from tests.broker.outside import Outside
from tests.broker.served import Served, eventually
from tests.chain.stream import BROKEN_EVERY, MLP, N_VECTORS, PARTITIONS, Fill, expected_scores, value

N_EVENTS = 100_000
RATE = 6_000


@contextmanager
def filling(brokers: str, topic: str) -> Iterator[Fill]:
    fill = Fill(brokers, topic, RATE, at_least=N_EVENTS)
    fill.start()
    yield fill
    fill.enough.set()
    fill.join(40)
    assert not fill.is_alive()
    assert fill.refused == []


def scores_something(served: Served) -> bool:
    return served.metric("pelton_scored_total") > 0


def check_scores(messages: list[Message], n_sent: int) -> int:
    """Check every score against its event; return how many there are too many."""
    expected = expected_scores()
    found: dict[int, list[float]] = {}
    seen: dict[int, int] = {}
    for message in messages:
        wire = json.loads(message.value())
        assert message.key().decode() == wire["event_id"]
        assert message.partition() == wire["source"]["partition"]
        i = int(wire["event_id"][1:])
        assert wire["source"]["partition"] == i % PARTITIONS
        if i not in found:
            # What comes again may come late; the first time, each partition is in the order of its source.
            assert wire["source"]["offset"] > seen.get(message.partition(), -1), "out of order"
            seen[message.partition()] = wire["source"]["offset"]
        found.setdefault(i, []).append(wire["score"])
    lost = {i for i in range(n_sent) if i % BROKEN_EVERY} - found.keys()
    assert not lost, f"{len(lost)} events lost, such as e{min(lost)}"
    firsts = np.array([found[i][0] for i in sorted(found)])
    assert np.abs(firsts - expected[np.array(sorted(found)) % N_VECTORS]).max() < 1e-5
    again = [scores for scores in found.values() if len(scores) > 1]
    assert max((max(scores) - min(scores) for scores in again), default=0.0) < 1e-6
    return sum(len(scores) - 1 for scores in again)


def check_dead_letters(messages: list[Message], n_sent: int) -> None:
    expected = {value(i).encode() for i in range(0, n_sent, BROKEN_EVERY)}
    assert {message.value() for message in messages} == expected
    assert {dict(message.headers())["pelton-error-code"] for message in messages} == {b"malformed"}


@pytest.mark.timeout(100)
def test_nothing_is_lost_while_workers_come_die_and_leave(serve: Serve, outside: Outside) -> None:
    stays = serve(
        model=str(MLP.parent),
        partitions=PARTITIONS,
        sink_partitions=PARTITIONS,
        # Scores that linger are on their way when a worker dies: what is committed too early is lost for sure.
        kafka={"session.timeout.ms": 2000, "linger.ms": 200},
    )
    with filling(outside.brokers, stays.source) as fill:
        dies = serve(settings=stays.settings, ready=False)
        leaves = serve(settings=stays.settings, ready=False)
        eventually(lambda: scores_something(dies) and scores_something(leaves), within_s=30)
        assert scores_something(stays)
        dies.tell(signal.SIGKILL)
        comes = serve(settings=stays.settings, ready=False)
        eventually(lambda: len(outside.members(stays.group)) == 3)
        assert leaves.stop() == 0
        eventually(lambda: scores_something(comes), within_s=30)
    stays.eventually(lambda: outside.finished(stays.group, stays.source))
    assert sum(outside.ends(stays.source).values()) == fill.sent
    assert check_scores(outside.read(stays.sink), fill.sent) < fill.sent / 2
    check_dead_letters(outside.read(stays.dead_letter), fill.sent)
