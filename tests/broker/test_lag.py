"""`pelton lag` beside what was really written, and beside Kafka's own tool wherever that is right."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from pelton.consumers.group_lag import GroupLag

from .outside import Outside, Record
from .told_lag import Group, in_transaction

TopicFactory = Callable[..., str]


@pytest.fixture
def group(outside: Outside, topic_factory: TopicFactory) -> Group:
    return Group(outside, topic_factory(partitions=2))


def test_plain_lag_is_what_kafkas_own_tool_says(outside: Outside, group: Group) -> None:
    outside.send(group.topic, *[Record(b"x", partition=i % 2) for i in range(60)])
    group.commit(p0=10, p1=30)
    assert group.records() == [20, 0]
    assert group.kafkas_own() == [20, 0]


def test_the_age_is_that_of_the_oldest_record_unread(outside: Outside, group: Group) -> None:
    producer = Producer({"bootstrap.servers": outside.brokers})
    now_ms = int(time.time() * 1000)
    for age_s in (5000, 300, 100):
        producer.produce(group.topic, b"x", partition=0, timestamp=now_ms - age_s * 1000)
    assert producer.flush(20) == 0
    group.commit(p0=1, p1=0)
    old, idle = group.lag()["partitions"]
    passed_s = time.time() - now_ms / 1000
    assert 300 <= old["oldest_s"] <= 300 + passed_s
    assert (old["records"], idle["records"], idle["oldest_s"], idle["drain_s"]) == (2, 0, 0.0, 0.0)


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_b15_what_ends_in_a_transaction_marker_is_read_to_its_end(outside: Outside, group: Group, end: str) -> None:
    in_transaction(outside, group.topic, 100, end="commit")
    if end == "abort":
        in_transaction(outside, group.topic, 10, end="abort")
    group.commit(p0=100)  # the last record and one
    assert outside.ends(group.topic)[0] == {"commit": 101, "abort": 112}[end]
    assert group.records() == [0, 0]


def test_what_an_open_transaction_hides_is_not_counted(outside: Outside, group: Group) -> None:
    outside.send(group.topic, *[Record(b"x", partition=0) for _ in range(5)])
    writer = in_transaction(outside, group.topic, 10, end="open")
    group.commit(p0=2)
    assert group.records() == [3, 0]
    writer.commit_transaction(20)
    assert group.records() == [14, 0]  # three, ten and the marker


def test_b16_deleted_history_is_no_backlog(outside: Outside, group: Group) -> None:
    outside.send(group.topic, *[Record(b"x", partition=0) for _ in range(75)])
    group.commit(p0=50)
    outside.admin.delete_records([TopicPartition(group.topic, 0, 75)])[TopicPartition(group.topic, 0)].result(20)
    assert group.records() == [0, 0]


def test_b16_without_a_commit_a_partition_counts_by_where_the_group_begins_held_or_not(
    outside: Outside, group: Group
) -> None:
    outside.send(group.topic, *[Record(b"x", partition=i % 2) for i in range(40)])
    group.commit(p0=5)
    assert group.records() == [15, 20]
    member = Consumer({"bootstrap.servers": outside.brokers, "group.id": group.name, "client.id": "reader-7"})
    held: list[TopicPartition] = []
    member.subscribe([group.topic], on_assign=lambda _, added: held.extend(added))
    deadline_s = time.monotonic() + 30
    while len(held) < 2:
        assert time.monotonic() < deadline_s
        member.poll(0.1)
    told = group.lag()["partitions"]
    assert [(at["records"], at["committed"], at["member"]) for at in told] == [
        (15, 5, "reader-7"),
        (20, None, "reader-7"),
    ]
    assert [at["records"] for at in group.lag("--latest")["partitions"]] == [15, 0]
    member.close()


def test_b16_a_commit_beyond_the_log_is_behind_from_where_the_group_begins(outside: Outside, group: Group) -> None:
    outside.send(group.topic, *[Record(b"x", partition=0) for _ in range(10)])
    group.commit(p0=1000, p1=0)
    told = group.lag()["partitions"]
    assert [(at["records"], at["committed"]) for at in told] == [(10, 1000), (0, 0)]
    reader = Consumer({"bootstrap.servers": outside.brokers, "group.id": group.name, "auto.offset.reset": "earliest"})
    reader.assign([TopicPartition(group.topic, 0)])
    assert len(reader.consume(10, timeout=20)) == 10  # such is the truth
    reader.close()


def test_b16_a_topic_that_was_deleted_hides_no_other(
    outside: Outside, group: Group, topic_factory: TopicFactory
) -> None:
    gone = topic_factory(1)
    outside.send(group.topic, *[Record(b"x", partition=0) for _ in range(8)])
    group.commit(p0=5)
    member = Consumer({"bootstrap.servers": outside.brokers, "group.id": group.name})
    held: list[TopicPartition] = []
    member.subscribe([group.topic, gone], on_assign=lambda _, added: held.extend(added))
    deadline_s = time.monotonic() + 30
    while len(held) < 3:
        assert time.monotonic() < deadline_s
        member.poll(0.1)
    outside.admin.delete_topics([gone])[gone].result(20)
    # The member is told nothing before it asks for metadata again, minutes later: the group has it hold the partition.
    assert group.records() == [3, 0]
    with closing(GroupLag({"bootstrap.servers": outside.brokers}, group.name, topics=[group.topic, gone])) as named:
        assert [at.records for at in named.look()] == [3, 0]
    member.close()


def test_a_group_that_nobody_knows_is_named(outside: Outside) -> None:
    command = [sys.executable, "-m", "pelton.cli", "lag", "no-such-group", "--brokers", outside.brokers]
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=40)
    assert told.returncode == 1
    assert "no-such-group" in told.stderr
