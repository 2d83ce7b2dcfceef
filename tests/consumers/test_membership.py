"""In whose name a transaction commits: what the source knows of its membership, and what the group has committed."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from pelton.consumers import source as source_file
from pelton.consumers.assignment import Assignment, Partition
from pelton.consumers.ledger import Ledger
from pelton.consumers.source import Source
from pelton.errors import BrokerUnavailable, KafkaFailure
from pelton.testing import FakeKafka
from pelton.testing_group import FakeGroupMetadata

FIRST = ("in", 0)


class Watcher:
    """Looks at the source's member whenever the group says something."""

    def __init__(self) -> None:
        self.source: Any = None
        self.seen: list[tuple[str, Any]] = []

    def on_assigned(self, _partitions: list[Partition]) -> None:
        self.seen.append(("assigned", self.source.member))

    def on_revoked(self, _partitions: list[Partition]) -> None:
        self.seen.append(("revoked", self.source.member))

    def on_lost(self, _partitions: list[Partition]) -> None:
        self.seen.append(("lost", self.source.member))


class Joined:
    def __init__(self, kafka: FakeKafka, *, transactional: bool = True) -> None:
        config = {"group.id": "g", "partition.assignment.strategy": "cooperative-sticky"}
        self.source = Source(
            config, ["in"], Assignment(), max_records=10, transactional=transactional, make_consumer=kafka.consumer
        )
        self.consumer = kafka.consumers[-1]
        self.watcher = Watcher()
        self.watcher.source = self.source
        self.source.join(self.watcher)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every poll looks positions and membership up."""
    monkeypatch.setattr(source_file, "POSITIONS_EVERY_S", 0.0)


def test_b20_the_member_is_known_from_the_first_assignment_on(manual_kafka: FakeKafka) -> None:
    one = Joined(manual_kafka)
    one.source.poll(0)
    assert one.source.member is None
    one.consumer.give(FIRST)
    one.source.poll(0)
    expected = FakeGroupMetadata("g", 1, one.consumer.memberid())
    assert (one.source.member, one.watcher.seen) == (expected, [("assigned", expected)])


def test_b20_the_listener_of_a_revoke_can_commit_in_the_name_of_that_moment(manual_kafka: FakeKafka) -> None:
    one = Joined(manual_kafka)
    one.consumer.give(FIRST)
    one.source.poll(0)
    one.consumer.revoke(FIRST)
    one.source.poll(0)
    (_, member) = one.watcher.seen[-1]
    assert member == FakeGroupMetadata("g", 2, one.consumer.memberid())
    assert manual_kafka.groups.refusal(member) is None


def test_b20_a_member_that_lost_its_partitions_commits_nothing_until_it_is_told_anew(
    manual_kafka: FakeKafka, at_once: None
) -> None:
    one = Joined(manual_kafka)
    one.consumer.give(FIRST)
    one.source.poll(0)
    one.consumer.lose(FIRST)
    for _ in range(3):
        one.source.poll(0)
        assert one.source.member is None
    assert one.watcher.seen[-1] == ("lost", None)
    one.consumer.give(FIRST)
    one.source.poll(0)
    assert one.source.member.member_id == one.consumer.memberid() != ""


def test_b20_between_polls_the_member_stays_what_it_was_whatever_the_group_does(
    manual_kafka: FakeKafka, clock: Any
) -> None:
    one = Joined(manual_kafka)
    one.consumer.give(FIRST)
    one.source.poll(0)
    before = one.source.member
    manual_kafka.groups.move("g")
    assert one.source.member is before
    one.source.poll(0)
    assert one.source.member is before, "a poll costs no call while it is young"
    clock.now_s += source_file.POSITIONS_EVERY_S
    one.source.poll(0)
    assert one.source.member == FakeGroupMetadata("g", before.generation + 1, before.member_id)


@pytest.mark.parametrize("ids", [("", "m"), ("m", ""), ("m", "n"), ("", "")])
def test_b20_metadata_taken_while_the_id_came_or_went_are_not_used(
    manual_kafka: FakeKafka, at_once: None, ids: tuple[str, str]
) -> None:
    """The group is followed in the background: metadata may be those of nobody, and nobody is never refused."""
    one = Joined(manual_kafka)
    one.consumer.give(FIRST)
    one.source.poll(0)
    told = iter([one.consumer.memberid() if each == "m" else each for each in ids])
    one.consumer.memberid = lambda: next(told)
    one.source.poll(0)
    assert one.source.member is None


def given_up_while_it_keeps(partition: tuple[str, int], kafka: FakeKafka, *, transactional: bool) -> Joined:
    """Return a member that was given up, whose client keeps its partition: a commit in a callback heard of it first."""
    one = Joined(kafka, transactional=transactional)
    one.consumer.give(partition)
    one.source.poll(0)
    one.consumer.memberid = lambda: None
    one.source.poll(0)
    return one


@pytest.mark.parametrize("wait", [True, False])
def test_a_member_between_two_sessions_commits_nothing(manual_kafka: FakeKafka, at_once: None, wait: bool) -> None:
    """The offsets would not count, and the broker calls a static member fenced, which ends its client for good."""
    one = given_up_while_it_keeps(FIRST, manual_kafka, transactional=False)
    assert not one.source.ledger.admitted
    with pytest.raises(BrokerUnavailable):
        one.source.ledger.commit({FIRST: 3}, {}, wait=wait)
    assert manual_kafka.committed("g", FIRST) is None


@pytest.mark.parametrize("transactional", [True, False])
def test_b20_a_member_let_in_anew_with_its_old_partitions_neither_commits_nor_goes_on(
    manual_kafka: FakeKafka, at_once: None, transactional: bool
) -> None:
    """Others have worked on them meanwhile; the new id would make old work count."""
    one = given_up_while_it_keeps(FIRST, manual_kafka, transactional=transactional)
    one.consumer.memberid = lambda: "new"
    one.consumer.revoke(("in", 1))
    with pytest.raises(KafkaFailure, match="let it in anew"):
        one.source.poll(0)
    assert one.source.member is None
    assert not one.source.ledger.admitted


def test_b20_the_callback_of_a_member_let_in_anew_commits_nothing(manual_kafka: FakeKafka) -> None:
    one = given_up_while_it_keeps(FIRST, manual_kafka, transactional=True)
    one.consumer.memberid = lambda: "new"
    one.consumer.revoke(FIRST)
    one.source.poll(0)
    assert one.watcher.seen[-1] == ("revoked", None)
    one.consumer.give(FIRST)
    one.source.poll(0)
    assert one.source.ledger.admitted, "what comes under the new id is its own"


def test_without_transactions_nobody_asks_for_the_member(manual_kafka: FakeKafka, at_once: None) -> None:
    one = Joined(manual_kafka, transactional=False)
    one.consumer.consumer_group_metadata = lambda: pytest.fail("asked")
    one.consumer.give(FIRST)
    one.source.poll(0)
    one.consumer.revoke(FIRST)
    one.source.poll(0)
    assert one.source.member is None


@pytest.fixture
def ledger(kafka: FakeKafka) -> Ledger:
    return Ledger(kafka.consumer({"group.id": "g"}))


def test_committed_offsets_come_without_partitions_that_have_none(kafka: FakeKafka, ledger: Ledger) -> None:
    kafka.take_commit("g", [TopicPartition("in", 0, 7, "note"), TopicPartition("in", 2, 0)])
    assert ledger.offsets([("in", n) for n in range(4)], 1.0) == {("in", 0): 7, ("in", 2): 0}
    assert ledger.offsets([], 1.0) == {}


@pytest.mark.parametrize("why", ["pending", "away"])
def test_b21_what_a_transaction_is_about_to_commit_is_not_guessed(kafka: FakeKafka, ledger: Ledger, why: str) -> None:
    kafka.take_commit("g", [TopicPartition("in", 0, 7)])
    producer = kafka.producer({"transactional.id": "t"})
    producer.init_transactions(1)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition("in", 0, 9)], FakeGroupMetadata("g", -1, ""), 1)
    kafka.reachable = why == "pending"
    with pytest.raises(BrokerUnavailable):
        ledger.offsets([FIRST], 0.01)
    kafka.reachable = True
    producer.commit_transaction(1)
    assert ledger.offsets([FIRST], 1.0) == {FIRST: 9}


def test_an_answer_that_names_an_error_is_no_offset(kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused:
        topic, partition, offset = "in", 0, 5
        error = KafkaError(KafkaError.NOT_COORDINATOR, "moving")

    consumer: Any = kafka.consumer({"group.id": "g"})
    answer: Callable[..., Any] = lambda *_, **__: [Refused]  # noqa: E731
    monkeypatch.setattr(consumer, "committed", answer)
    with pytest.raises(BrokerUnavailable):
        Ledger(consumer).offsets([FIRST], 1.0)
