"""Where a group begins that reads only what is new, and that it stays there over a restart."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.testing import FakeKafka

MAKE = Callable[..., Any]
LATEST = {"auto.offset.reset": "latest"}


def fill(kafka: FakeKafka, partition: int, n: int) -> None:
    for _ in range(n):
        kafka.write("in", b"{}", partition=partition)


def begin(kafka: FakeKafka, member: MAKE, *partitions: int, **config: str) -> Any:
    """Join, and be given some partitions of `in`."""
    one = member(kafka, **config)
    one.consumer.give(*(("in", n) for n in partitions))
    return one


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_a_restart_before_the_first_commit_goes_on_where_the_group_began(
    manual_kafka: FakeKafka, member: MAKE, strategy: str
) -> None:
    config = {**LATEST, "partition.assignment.strategy": strategy}
    fill(manual_kafka, 0, 3)
    assert begin(manual_kafka, member, 0, 1, **config).poll() == []
    assert manual_kafka.commits == [{("in", 0): 3, ("in", 1): 0}]
    fill(manual_kafka, 0, 2)
    fill(manual_kafka, 1, 1)
    assert begin(manual_kafka, member, 0, 1, **config).poll() == [(0, [3, 4]), (1, [0])]


def test_a_partition_with_a_commit_is_left_where_it_is(manual_kafka: FakeKafka, member: MAKE) -> None:
    fill(manual_kafka, 0, 3)
    begin(manual_kafka, member, **LATEST).source.ledger.commit({("in", 0): 1}, {}, wait=True)
    assert begin(manual_kafka, member, 0, 1, **LATEST).poll() == [(0, [1, 2])]
    assert manual_kafka.commits[1:] == [{("in", 1): 0}]


@pytest.mark.parametrize("reset", ["earliest", "error"])
def test_who_does_not_begin_at_the_end_commits_nothing_beforehand(
    manual_kafka: FakeKafka, member: MAKE, reset: str
) -> None:
    begin(manual_kafka, member, 0, **{"auto.offset.reset": reset}).poll()
    assert manual_kafka.commits == []


def test_a_broker_that_refuses_or_does_not_answer_holds_up_nobody(manual_kafka: FakeKafka, member: MAKE) -> None:
    fill(manual_kafka, 0, 3)
    one = begin(manual_kafka, member, 0, **LATEST)
    manual_kafka.refuse_commit = lambda _: KafkaError(KafkaError.REBALANCE_IN_PROGRESS, "rebalance in progress")
    assert one.poll() == []
    one.consumer.give(("in", 1))
    manual_kafka.reachable = False
    assert one.poll() == []
    fill(manual_kafka, 0, 1)
    fill(manual_kafka, 1, 1)
    assert one.poll() == [(0, [3]), (1, [0])]
    assert manual_kafka.commits == []


def test_b50_a_partition_that_is_added_begins_at_its_first_record(manual_kafka: FakeKafka, member: MAKE) -> None:
    fill(manual_kafka, 0, 3)
    one = begin(manual_kafka, member, 0, **LATEST)
    assert one.poll() == []
    added = len(manual_kafka.topics["in"])
    manual_kafka.topics["in"].append([])
    fill(manual_kafka, added, 2)
    one.consumer.give(("in", 1), ("in", added))
    fill(manual_kafka, 1, 2)
    assert one.poll() == [(added, [0, 1])]
    assert manual_kafka.commits == [{("in", 0): 3}, {("in", 1): 2, ("in", added): 0}]


def test_b50_a_topic_that_is_made_later_begins_at_its_first_record(manual_kafka: FakeKafka, member: MAKE) -> None:
    one = member(manual_kafka, ("in", "later"), **LATEST)
    one.consumer.give(("in", 0))
    assert one.poll() == []
    manual_kafka.topics["later"] = [[]]
    manual_kafka.write("later", b"{}", partition=0)
    one.consumer.give(("later", 0))
    assert one.poll() == [(0, [0])]


def test_b50_a_topic_that_could_not_be_seen_at_first_is_not_taken_for_a_new_one(
    manual_kafka: FakeKafka, member: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(topic: str, timeout: float) -> Any:
        assert timeout > 0
        found = manual_kafka.describe(topic)
        found.topics[topic].partitions = {}
        found.topics[topic].error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not authorized")
        return found

    fill(manual_kafka, 0, 3)
    one = begin(manual_kafka, member, 0, **LATEST)
    monkeypatch.setattr(one.consumer, "list_topics", forbidden)
    assert one.poll() == []
    assert manual_kafka.commits == [{("in", 0): 3}]
