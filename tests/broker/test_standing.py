"""A static member that is missed while it gives partitions back: let in anew, and nothing old is committed."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from .outside import QUIET, Outside
from .served import eventually

PARTITIONS = 6
THEIRS = 9
SLOW = Path(__file__).with_name("slow_to_give.py")


def another(brokers: str, topic: str, group: str, name: str) -> Consumer:
    """Return a plain static member of the group."""
    strategy = {"partition.assignment.strategy": "cooperative-sticky", "enable.auto.commit": False}
    clocks = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
    who = {"bootstrap.servers": brokers, "group.id": group, "group.instance.id": name}
    consumer = Consumer({**who, **strategy, **clocks, **QUIET})
    consumer.subscribe([topic])
    return consumer


@contextmanager
def slow(brokers: str, topic: str, group: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out, subprocess.Popen([sys.executable, SLOW, brokers, topic, group], stdout=out) as member:
        try:
            yield member
        finally:
            member.kill()


def own(consumers: list[Consumer]) -> list[TopicPartition]:
    for consumer in consumers:
        consumer.poll(0.02)
    return [at for consumer in consumers for at in consumer.assignment()]


@pytest.fixture
def topic(topic_factory: Callable[..., str]) -> str:
    return topic_factory(PARTITIONS)


@pytest.fixture
def join(brokers: str, topic: str, group_name: str) -> Iterator[Callable[[str], Consumer]]:
    """`join(name)` lets another static member join the group."""
    with ExitStack() as stack:

        def join(name: str) -> Consumer:
            consumer = another(brokers, topic, group_name, name)
            stack.callback(consumer.close)
            return consumer

        yield join


def test_b20_a_member_missed_in_a_rebalance_is_let_in_anew_and_commits_nothing_old(
    brokers: str, outside: Outside, topic: str, group_name: str, join: Callable[[str], Consumer], tmp_path: Path
) -> None:
    log = tmp_path / "slow.log"
    others = [join("first")]

    def says(what: str, times: int = 1) -> bool:
        own(others)
        return log.read_text().count(what) >= times

    with slow(brokers, topic, group_name, log) as member:
        eventually(lambda: says(f"has {PARTITIONS // 2}"), otherwise=log.read_text)
        others.append(join("second"))
        eventually(lambda: says("gives"), otherwise=log.read_text)
        member.send_signal(signal.SIGSTOP)
        eventually(lambda: len(own(others)) == PARTITIONS)
        theirs = [TopicPartition(topic, number, THEIRS) for number in range(PARTITIONS)]
        others[0].commit(offsets=theirs, asynchronous=False)
        member.send_signal(signal.SIGCONT)
        # Nobody else polls: until they do, the group does not let it in.
        eventually(lambda: log.read_text().count("held") >= 5 or member.poll() is not None, otherwise=log.read_text)
        eventually(lambda: says("came again") or member.poll() is not None, otherwise=log.read_text)
        assert member.wait(10) == 0, log.read_text()
    assert set(outside.committed(group_name, topic).values()) == {THEIRS}
