"""The source: columns by partition, ownership in step with the group, and errors that are no records."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from pelton.consumers import source as source_file
from pelton.consumers.assignment import Assignment
from pelton.consumers.source import Source
from pelton.deadline import Deadline
from pelton.errors import Fenced, KafkaFailure
from pelton.testing import FakeKafka

MAKE = Callable[..., Any]
GENERATION = KafkaError(KafkaError.ILLEGAL_GENERATION, "Broker: Specified group generation id is not valid")


def fill(kafka: FakeKafka, topic: str, partition: int, n: int, value: bytes = b"{}") -> None:
    for _ in range(n):
        kafka.write(topic, value, partition=partition)


def at(n: int) -> tuple[str, int]:
    return ("in", n)


def test_a_poll_brings_one_block_for_each_partition(kafka: FakeKafka, member: MAKE, clock: Any) -> None:
    for partition, n in ((0, 3), (2, 2)):
        fill(kafka, "in", partition, n, b"12345")
    one = member(kafka)
    first, second = one.source.poll(0)
    assert (first.topic, first.partition, first.offsets) == ("in", 0, [0, 1, 2])
    assert (second.topic, second.partition, second.offsets) == ("in", 2, [0, 1])
    assert [message.value() for message in first.messages] == [b"12345"] * 3
    assert (first.n_bytes, second.n_bytes, first.arrived_s) == (15, 10, clock.now_s)
    assert first.epoch == one.source.assignment.epoch(at(0)) > 0
    assert one.source.poll(0) == []


def test_topics_are_not_mixed_up(kafka: FakeKafka, member: MAKE) -> None:
    fill(kafka, "in", 1, 2)
    fill(kafka, "also", 1, 1)
    blocks = member(kafka, topics=["in", "also"]).source.poll(0)
    assert {(block.topic, block.partition, tuple(block.offsets)) for block in blocks} == {
        ("in", 1, (0, 1)),
        ("also", 1, (0,)),
    }


class Interleaved:
    """A client that brings the records of two partitions by turns, as two brokers would."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._messages = [kafka.write("in", b"{}", partition=n % 2) for n in range(6)]
        self.asked: list[tuple[int, float]] = []

    def consume(self, n: int, timeout: float) -> list[Any]:
        self.asked.append((n, timeout))
        messages, self._messages = self._messages[:n], self._messages[n:]
        return messages


def test_runs_of_a_partition_are_joined_in_order(kafka: FakeKafka) -> None:
    client, assignment = Interleaved(kafka), Assignment()
    assignment.assign([at(0), at(1)])
    source = Source({}, ["in"], assignment, max_records=512, make_consumer=lambda _: client)
    source._positions_due = type(source._positions_due).after(1e9)
    assert [(block.partition, block.offsets) for block in source.poll(0)] == [(0, [0, 1, 2]), (1, [0, 1, 2])]


def test_b09_a_poll_takes_what_is_there_and_else_waits_for_what_is_wanted(kafka: FakeKafka) -> None:
    """The client's call for many records waits for all of them, or its whole time-out."""
    client, assignment = Interleaved(kafka), Assignment()
    assignment.assign([at(0), at(1)])
    source = Source({}, ["in"], assignment, max_records=512, make_consumer=lambda _: client)
    source._positions_due = type(source._positions_due).after(1e9)
    source.poll(0.7)
    assert client.asked == [(512, 0)]
    assert source.poll(0.7) == []
    assert source.poll(0.3, wanted=5) == []
    assert client.asked[1:] == [(512, 0), (1, 0.7), (512, 0), (5, 0.3)]


def test_what_has_waited_for_a_poll_is_dated_back_to_the_end_of_the_last_one(
    kafka: FakeKafka, member: MAKE, clock: Any
) -> None:
    one = member(kafka)
    assert one.poll() == []
    ended_s, clock.now_s = clock.now_s, clock.now_s + 0.25
    fill(kafka, "in", 0, 2)
    assert [block.arrived_s for block in one.source.poll(0)] == [ended_s]
    clock.now_s += 0.5
    fill(kafka, "in", 0, 1)
    assert [block.arrived_s for block in one.source.poll(0)] == [ended_s + 0.25]


def test_a_poll_brings_no_more_than_was_asked_for(kafka: FakeKafka, member: MAKE) -> None:
    fill(kafka, "in", 0, 25)
    one = member(kafka, max_records=10)
    assert [one.poll() for _ in range(4)] == [
        [(0, list(range(10)))],
        [(0, list(range(10, 20)))],
        [(0, list(range(20, 25)))],
        [],
    ]


def test_b09_errors_in_the_list_are_no_records(kafka: FakeKafka, member: MAKE) -> None:
    fill(kafka, "in", 0, 2)
    one = member(kafka, topics=["in", "also"])
    one.consumer.fail(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    one.consumer.fail(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic"), "also")
    assert one.poll() == [(0, [0, 1])]
    assert one.source.problems == {"also": "Broker: Unknown topic"}


def test_b40_a_problem_of_a_topic_is_over_once_it_is_assigned(manual_kafka: FakeKafka, member: MAKE) -> None:
    one = member(manual_kafka)
    one.consumer.fail(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic"), "in")
    one.poll()
    assert set(one.source.problems) == {"in"}
    assert not one.source.joined
    one.consumer.give(at(0))
    one.poll()
    assert (one.source.problems, one.source.joined) == ({}, True)


@pytest.mark.parametrize("how", ["give", "revoke", "lose"])
def test_b40_a_partition_is_unreadable_until_its_assignment_changes(
    manual_kafka: FakeKafka, member: MAKE, how: str
) -> None:
    """The client stands still where there is no offset to begin at, whatever becomes of its neighbours."""
    one = member(manual_kafka, topics=["in", "also"])
    one.consumer.give(at(0), at(1))
    no_reset = KafkaError(KafkaError._AUTO_OFFSET_RESET, "no previously committed offset available")
    one.consumer.fail(no_reset, "in", 1)
    one.poll()
    assert list(one.source.unreadable) == [at(1)]
    one.consumer.give(at(2))
    one.consumer.revoke(at(0))
    one.poll()
    assert list(one.source.unreadable) == [at(1)]
    getattr(one.consumer, how)(at(1))
    one.poll()
    assert one.source.unreadable == {}


def test_b60_a_member_that_is_fenced_ends_instead_of_going_on_without_partitions(
    kafka: FakeKafka, member: MAKE
) -> None:
    """The client tells it once, as an error in the list, and from then on brings nothing."""
    one = member(kafka)
    one.poll()
    one.consumer.fail(KafkaError(KafkaError._FATAL, "Fatal error: Broker: Static consumer fenced by other consumer"))
    with pytest.raises(KafkaFailure, match="Static consumer fenced"):
        one.poll()


def test_b60_a_member_whose_name_is_not_free_yet_joins_later_with_another_client(
    kafka: FakeKafka, member: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Fatal error: Broker: The instance ID is still used by another member in the consumer group: …"
    one = member(kafka)
    monkeypatch.setattr(source_file, "NAME_EVERY_S", 60.0)
    one.consumer.fail(KafkaError(KafkaError._FATAL, text, fatal=True))
    fill(kafka, "in", 0, 2)
    one.source.poll(0)
    assert (one.source.joined, one.source.problems, one.consumer.closed) == (False, {"static membership": text}, True)
    assert one.source.poll(0) == []
    one.source._join_due = Deadline.after(0)
    assert [records.offsets for records in one.source.poll(0)] == [[0, 1]]
    assert (one.source.joined, one.source.problems) == (True, {})


FENCED = (
    "Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id: OffsetCommit failed"
)


def test_b60_a_commit_answered_after_the_session_had_ended_fences_nobody(
    kafka: FakeKafka, member: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker was away for longer than a session; the commits asked for before were sent when it was back."""
    one = member(kafka)
    one.poll()
    monkeypatch.setattr(source_file, "NAME_EVERY_S", 60.0)
    one.consumer.lose(*one.source.assignment.partitions)
    one.source.poll(0)
    one.consumer.fail(KafkaError(KafkaError._FATAL, FENCED, fatal=True))
    assert one.source.poll(0) == []
    assert (one.source.joined, one.source.problems) == (False, {"static membership": FENCED})
    fill(kafka, "in", 0, 2)
    one.source._join_due = Deadline.after(0)
    assert [records.offsets for records in one.source.poll(0)] == [[0, 1]]


def test_b60_a_member_let_in_anew_drops_what_it_had_when_its_commit_is_called_fenced(
    kafka: FakeKafka, member: MAKE
) -> None:
    one = member(kafka)
    one.poll()
    one.consumer.memberid = lambda: None
    one.consumer.fail(KafkaError(KafkaError._FATAL, FENCED, fatal=True))
    assert one.source.poll(0) == []
    assert one.source.assignment.partitions == []


def test_b60_a_commit_of_a_member_in_its_session_that_is_fenced_ends_it(kafka: FakeKafka, member: MAKE) -> None:
    one = member(kafka)
    one.poll()
    one.consumer.fail(KafkaError(KafkaError._FATAL, FENCED, fatal=True))
    with pytest.raises(Fenced):
        one.poll()


def test_a_passing_error_of_the_connection_is_no_failure(kafka: FakeKafka, member: MAKE) -> None:
    one = member(kafka)
    one.consumer.config["error_cb"](KafkaError(KafkaError._TRANSPORT, "Connection refused"))
    fill(kafka, "in", 0, 1)
    assert one.poll() == [(0, [0])]


def test_a_member_without_partitions_has_joined(manual_kafka: FakeKafka, member: MAKE) -> None:
    one = member(manual_kafka)
    one.poll()
    assert not one.source.joined
    one.consumer.give()
    one.poll()
    assert one.source.joined
    assert one.diary.heard == [("assigned", [], [])]


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range,roundrobin"])
def test_b07_ownership_changes_around_what_the_listener_hears(
    manual_kafka: FakeKafka, member: MAKE, strategy: str
) -> None:
    """Told of a revoke while the partitions are still owned, of a loss when they are not any more."""
    one = member(manual_kafka, **{"partition.assignment.strategy": strategy})
    one.consumer.give(at(0), at(1), at(2))
    one.consumer.revoke(at(1), after=1)
    one.consumer.lose(at(2), after=2)
    for _ in range(3):
        one.poll()
    assert one.diary.heard == [
        ("assigned", [at(0), at(1), at(2)], [at(0), at(1), at(2)]),
        ("revoked", [at(1)], [at(0), at(1), at(2)]),
        ("lost", [at(2)], [at(0)]),
    ]
    assert one.source.assignment.partitions == [at(0)]
    assert {(owned.topic, owned.partition) for owned in one.consumer.assignment()} == {at(0)}


def test_b07_cooperative_partitions_are_added_and_eager_ones_replace(manual_kafka: FakeKafka, member: MAKE) -> None:
    for config, owned in (({}, {at(0), at(1)}), ({"partition.assignment.strategy": "range"}, {at(1)})):
        one = member(manual_kafka, **config)
        one.consumer.give(at(0))
        one.consumer.give(at(1), after=1)
        one.poll()
        one.poll()
        assert {(p.topic, p.partition) for p in one.consumer.assignment()} == owned


def test_the_new_group_protocol_is_cooperative_too(manual_kafka: FakeKafka, member: MAKE) -> None:
    one = member(manual_kafka, **{"partition.assignment.strategy": "", "group.protocol": "consumer"})
    one.consumer.give(at(0))
    one.consumer.give(at(1), after=1)
    one.poll()
    one.poll()
    assert len(one.consumer.assignment()) == 2


def test_b07_records_polled_just_before_their_partition_left_belong_to_nobody(
    manual_kafka: FakeKafka, member: MAKE
) -> None:
    """The call may serve the rebalance after it has found them: nobody would ever finish those."""
    for n in (0, 1):
        fill(manual_kafka, "in", n, 2)
    one = member(manual_kafka)
    one.consumer.give(at(0), at(1))
    one.consumer.revoke(at(0), late=True)
    assert one.poll() == [(1, [0, 1])]


def test_b07_a_partition_that_comes_back_has_a_new_epoch_and_begins_where_it_was_committed(
    manual_kafka: FakeKafka, member: MAKE
) -> None:
    fill(manual_kafka, "in", 0, 5)
    one = member(manual_kafka)
    one.consumer.give(at(0))
    (before,) = one.source.poll(0)
    one.source.ledger.commit({at(0): 3}, {}, wait=True)
    one.consumer.revoke(at(0))
    one.poll()
    one.consumer.give(at(0))
    (after,) = one.source.poll(0)
    assert after.offsets == [3, 4]
    assert after.epoch > before.epoch
    assert not one.source.assignment.owns(before)
    assert one.source.assignment.owns(after)


def test_b30_what_is_paused_stays_owned_and_silent_also_what_is_added(manual_kafka: FakeKafka, member: MAKE) -> None:
    for n in (0, 1):
        fill(manual_kafka, "in", n, 1)
    one = member(manual_kafka)
    one.consumer.give(at(0))
    one.consumer.give(at(1), after=3)
    one.poll()
    one.source.pause()
    fill(manual_kafka, "in", 0, 1)
    assert [one.poll() for _ in range(4)] == [[]] * 4
    assert one.source.assignment.partitions == [at(0), at(1)]
    one.source.resume()
    assert one.poll() == [(0, [1]), (1, [0])]


def test_b30_what_left_while_paused_flows_when_it_comes_back(manual_kafka: FakeKafka, member: MAKE) -> None:
    fill(manual_kafka, "in", 0, 3)
    one = member(manual_kafka)
    one.consumer.give(at(0))
    one.source.pause()
    one.consumer.lose(at(0), after=1)
    assert [one.poll(), one.poll()] == [[], []]
    one.source.resume()
    one.consumer.give(at(0))
    assert one.poll() == [(0, [0, 1, 2])]


def test_b19_a_refused_commit_is_counted_and_the_source_goes_on(kafka: FakeKafka, member: MAKE) -> None:
    fill(kafka, "in", 0, 2)
    one = member(kafka)
    one.poll()
    kafka.refuse_commit = lambda _: GENERATION
    one.source.ledger.commit({at(0): 1}, {}, wait=False)
    assert one.source.commits.n_refused == 0
    assert one.poll() == []
    assert one.source.commits.n_refused == 1
    fill(kafka, "in", 0, 1)
    assert one.poll() == [(0, [2])]
    with pytest.raises(KafkaFailure, match="generation"):
        one.source.ledger.commit({at(0): 1}, {}, wait=True)


@pytest.mark.parametrize("wait", [True, False])
def test_b19_a_refusal_for_one_partition_of_several_counts_too(kafka: FakeKafka, member: MAKE, wait: bool) -> None:
    """The client calls such a commit a success: only that partition's own error tells."""
    one = member(kafka)
    denied = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no")
    kafka.refuse_commit = lambda asked: denied if asked.partition == 1 else None
    if wait:
        with pytest.raises(KafkaFailure):
            one.source.ledger.commit({at(0): 1, at(1): 1}, {}, wait=True)
    else:
        one.source.ledger.commit({at(0): 1, at(1): 1}, {}, wait=False)
        one.poll()
        assert one.source.commits.n_refused == 1
    assert kafka.commits == [{at(0): 1}]


def test_b19_a_commit_that_went_well_or_had_nothing_to_do_counts_as_none(kafka: FakeKafka, member: MAKE) -> None:
    one = member(kafka)
    one.source.ledger.commit({at(0): 1}, {}, wait=False)
    one.poll()
    one.consumer.config["on_commit"](KafkaError(KafkaError._NO_OFFSET, "nothing to commit"), [])
    assert one.source.commits.n_refused == 0


def test_positions_follow_what_was_polled_for_whoever_looks_from_another_thread(
    kafka: FakeKafka, member: MAKE, clock: Any
) -> None:
    fill(kafka, "in", 2, 7)
    one = member(kafka)
    one.poll()
    assert one.source.positions == {}
    clock.now_s += 1.0
    one.poll()
    assert one.source.positions == {at(2): 7}


@pytest.mark.parametrize("how", ["revoke", "lose"])
def test_a_position_leaves_with_its_partition(kafka: FakeKafka, member: MAKE, clock: Any, how: str) -> None:
    """It may come back at a lower offset, and that is no rewind."""
    fill(kafka, "in", 2, 7)
    one = member(kafka)
    one.poll()
    clock.now_s += 1.0
    one.poll()
    getattr(one.consumer, how)(at(2))
    one.poll()
    assert one.source.positions == {}


def test_leaving_revokes_what_is_owned(kafka: FakeKafka, member: MAKE) -> None:
    one = member(kafka)
    one.poll()
    one.source.close()
    assert one.diary.heard[-1][:2] == ("revoked", [at(n) for n in range(4)])
    assert one.source.assignment.partitions == []


def test_notes_travel_beside_the_offsets(kafka: FakeKafka, member: MAKE) -> None:
    one = member(kafka)
    one.source.ledger.commit({at(0): 3, at(1): 4}, {at(0): "a note"}, wait=True)
    assert one.source.ledger.notes([at(0), at(1), at(2)], 1.0) == {at(0): "a note", at(1): "", at(2): ""}
    kafka.reachable = False
    with pytest.raises(KafkaFailure):
        one.source.ledger.notes([at(0)], 1.0)


def test_the_clients_own_calls_take_what_the_source_gives() -> None:
    """The fake cannot prove that: a real consumer is made and closed, without a broker."""
    source = Source(
        {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}, ["in"], Assignment(), max_records=10
    )
    assert source.poll(0) == []
    source._consumer.position([TopicPartition("in", 0)])
    source.close()
