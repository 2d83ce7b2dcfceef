"""The search for the record that kills the process, over the deaths of many members; Kafka is in memory."""

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import KafkaError, TopicPartition

from pelton.consumers import trials as trials_file
from pelton.consumers.assignment import Assignment, Partition
from pelton.consumers.batcher import Batcher
from pelton.consumers.offsets import Offsets
from pelton.consumers.poison import Mark
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.schemas.rejection import Rejection
from pelton.testing_kafka import FakeKafka

TOPIC = "in"
KILLER = b"kill"


class Died(Exception):
    """The process is gone, with all that it had in hand."""


class Member:
    """One process of the group, from its join to its end: the loop's turns, without a model and a sink."""

    def __init__(self, kafka: FakeKafka, *, limit: int = 3, commit_every: int = 7, max_records: int = 50) -> None:
        self.kafka = kafka
        self.commit_every = commit_every
        self.turns = 0
        self.scored: list[tuple[int, int]] = []
        self.buried: list[tuple[int, int]] = []
        self.batches: list[int] = []
        assignment = Assignment()
        self.source = Source(
            {"group.id": "g", "partition.assignment.strategy": "cooperative-sticky"},
            [TOPIC],
            assignment,
            max_records=max_records,
            make_consumer=kafka.consumer,
        )
        self.consumer = kafka.consumers[-1]
        self.offsets = Offsets()
        self.batcher = Batcher(max_size=16, max_wait_s=0, max_records=64, max_bytes=10**6)
        self.trials = Trials(self.source.ledger, self.batcher, self.offsets, limit)
        self.source.join(self)

    def on_assigned(self, partitions: list[Partition]) -> None:
        self.trials.assigned(partitions)

    def on_revoked(self, partitions: list[Partition]) -> None:
        self.batcher.drop(lambda records: (records.topic, records.partition) in partitions)
        self.trials.give_back(partitions)
        self.commit(wait=True)
        self.on_lost(partitions)

    def on_lost(self, partitions: list[Partition]) -> None:
        self.batcher.drop(lambda records: (records.topic, records.partition) in partitions)
        self.trials.forget(partitions)
        self.offsets.forget(partitions)

    def poll(self) -> None:
        for records in self.trials.admit(self.source.poll(0) if self.batcher.filled < 1 else []):
            records.events = [message.value() for message in records.messages]
            self.offsets.received(records)
            self.batcher.put(records)
        self.trials.step()
        self.turns += 1
        if self.turns % self.commit_every == 0:
            self.commit()

    def score(self) -> None:
        batch = self.batcher.take()
        if batch is None:
            return
        self.batches.append(batch.n_records)
        events = [event for part in batch.parts for event in part.events]
        if KILLER in events:
            raise Died
        for part in batch.parts:
            for offset, event in zip(part.offsets, part.events, strict=True):
                (self.buried if isinstance(event, Rejection) else self.scored).append((part.partition, offset))
            self.offsets.finished(part)
        self.batcher.done()

    def commit(self, *, wait: bool = False) -> None:
        if offsets := self.offsets.committable():
            self.source.ledger.commit(offsets, self.trials.notes(offsets), wait=wait)
            self.offsets.committed(offsets)

    def work(self, turns: int = 10_000) -> None:
        """Go on until nothing is left to do, or for so many turns."""
        for _ in range(turns):
            self.poll()
            self.score()
            if done(self.kafka) and not self.trials.active:
                return


def topic(*partitions: Iterable[bytes]) -> FakeKafka:
    kafka = FakeKafka({TOPIC: len(partitions)})
    kafka.patience_s = 0
    for number, values in enumerate(partitions):
        for value in values:
            kafka.write(TOPIC, value, partition=number)
    return kafka


def good(n: int) -> list[bytes]:
    return [b"good"] * n


def committed(kafka: FakeKafka, number: int = 0) -> tuple[int, str]:
    at = kafka.committed("g", (TOPIC, number))
    return (at.offset, at.metadata or "") if at else (-1, "")


def commit(kafka: FakeKafka, offset: int, metadata: str, number: int = 0) -> None:
    kafka.take_commit("g", [TopicPartition(TOPIC, number, offset, metadata)])


def done(kafka: FakeKafka) -> bool:
    numbers = range(len(kafka.topics[TOPIC]))
    return all(committed(kafka, number)[0] == kafka.end(TOPIC, number) for number in numbers)


def live_and_die(kafka: FakeKafka, **options: int) -> tuple[int, list[Member]]:
    """Start one member after the other until one gets through; return the deaths, and all of them."""
    members: list[Member] = []
    while len(members) < 40:
        members.append(Member(kafka, **options))
        try:
            members[-1].work()
        except Died:
            continue
        assert done(kafka), "a member came to rest with work left"
        return len(members) - 1, members
    raise AssertionError("they die for ever")


def all_of(members: list[Member], what: str) -> list[tuple[int, int]]:
    return [place for member in members for place in getattr(member, what)]


@pytest.mark.parametrize("limit", [2, 3, 5])
@pytest.mark.parametrize("place", [0, 1, 17, 150, 399])
@pytest.mark.parametrize("commit_every", [1, 7, 1000])
def test_b03_a_killer_is_set_aside_and_its_neighbours_are_scored(place, commit_every, limit):
    values = good(400)
    values[place] = KILLER
    kafka = topic(good(400), values, good(400))
    deaths, members = live_and_die(kafka, commit_every=commit_every, limit=limit)
    assert deaths <= limit + 1
    assert all_of(members, "buried") == [(1, place)]
    expected = {(number, offset) for number in range(3) for offset in range(400)} - {(1, place)}
    assert set(all_of(members, "scored")) == expected
    assert [committed(kafka, number) for number in range(3)] == [(400, "")] * 3


def test_b03_killers_side_by_side_and_in_two_partitions_are_all_set_aside():
    first, second = good(100), good(100)
    first[40] = first[41] = second[60] = KILLER
    kafka = topic(first, second)
    deaths, members = live_and_die(kafka)
    assert Counter(all_of(members, "buried")) == Counter([(0, 40), (0, 41), (1, 60)])
    assert len(set(all_of(members, "scored"))) == 197
    assert deaths <= 3 * 4


def test_b03_each_record_goes_alone_and_under_its_own_mark_at_the_last_start():
    kafka = topic(good(5), good(30))
    commit(kafka, 0, Mark(2, 4, 4).note(0))
    member = Member(kafka)
    seen = []
    score = member.score
    member.score = lambda: (seen.append(committed(kafka)), score())
    member.work()
    assert [Mark.parse(note) for _, note in dict.fromkeys(seen) if note] == [Mark(3, at + 1, 1) for at in range(4)]
    assert member.batches[:4] == [1, 1, 1, 1]


def test_b03_while_one_is_alone_no_record_of_another_partition_is_in_the_model():
    kafka = topic(good(40), good(40))
    commit(kafka, 0, Mark(2, 10, 10).note(0))
    member = Member(kafka)
    place_of_death = []
    while not done(kafka):
        member.poll()
        batch = member.batcher.take()
        if batch is None:
            continue
        mark = Mark.parse(committed(kafka)[1])
        if mark is not None and mark.trial == 1:
            place_of_death.append([(part.partition, part.offsets) for part in batch.parts])
        for part in batch.parts:
            member.offsets.finished(part)
        member.batcher.done()
    assert place_of_death == [[(0, [offset])] for offset in range(10)]


def test_the_first_records_of_all_partitions_are_marked_in_one_commit_before_any_is_queued():
    kafka = topic(good(3), good(4), good(5))
    member = Member(kafka)
    member.trials.admit(member.source.poll(0))
    assert kafka.commits == [{(TOPIC, number): 0 for number in range(3)}]
    assert [committed(kafka, number)[1] for number in range(3)] == [Mark(1, end).note(0) for end in (3, 4, 5)]
    assert member.batcher.n_records == 0


def test_the_mark_stays_in_progress_commits_until_what_was_there_at_the_start_is_passed():
    kafka = topic(good(100))
    member = Member(kafka, commit_every=1)
    for _ in range(3):
        member.poll()
        member.score()
    position, note = committed(kafka)
    assert 0 < position < 100
    assert Mark.parse(note) == Mark(1, 100)
    member.work()
    assert committed(kafka) == (100, "")


def test_a_window_has_an_end_however_far_behind_the_group_is(monkeypatch):
    monkeypatch.setattr(trials_file, "WINDOW", 60)
    kafka = topic(good(500))
    member = Member(kafka)
    member.trials.admit(member.source.poll(0))
    assert Mark.parse(committed(kafka)[1]) == Mark(1, 60)


def test_later_records_of_an_assignment_cost_no_commit():
    kafka = topic(good(10))
    member = Member(kafka)
    member.work()
    n = len(kafka.commits)
    for _ in range(20):
        kafka.write(TOPIC, b"good")
        member.trials.admit(member.source.poll(0))
    assert len(kafka.commits) == n


def test_a_member_that_ends_well_takes_its_mark_back_with_or_without_progress():
    kafka = topic(good(100))
    member = Member(kafka, commit_every=1)
    member.poll()
    assert committed(kafka) == (0, Mark(1, 100).note(0))
    member.source.close()
    assert committed(kafka) == (0, "")
    member = Member(kafka, commit_every=1)
    member.poll()
    member.score()
    member.poll()
    member.source.close()
    assert committed(kafka) == (16, "")


def test_a_revoked_partition_in_a_trial_goes_on_with_the_starts_it_came_with():
    kafka = topic(good(100))
    commit(kafka, 10, Mark(2, 30, 20).note(10))
    member = Member(kafka)
    for _ in range(5):
        member.poll()
        member.score()
    member.poll()
    offset, note = committed(kafka)
    assert Mark.parse(note) == Mark(3, offset + 1, 1)
    member.source.close()
    assert committed(kafka) == (offset, Mark(2, 30, 20).note(offset))
    assert 10 < offset < 30


def test_rebalances_without_a_record_count_nothing_and_commit_nothing():
    kafka = topic(good(5), [])
    commit(kafka, 5, "")
    for _ in range(10):
        member = Member(kafka)
        member.work(turns=3)
        member.source.close()
    lost = Member(kafka)
    lost.poll()
    lost.consumer.lose((TOPIC, 0), (TOPIC, 1))
    lost.poll()
    assert len(kafka.commits) == 1


def test_a_death_while_idle_is_nobodys_fault():
    kafka = topic(good(5))
    Member(kafka).work()
    for _ in range(5):
        Member(kafka).work(turns=3)
    assert committed(kafka) == (5, "")
    kafka.write(TOPIC, b"good")
    member = Member(kafka)
    member.poll()
    assert not member.trials.active
    assert committed(kafka) == (5, Mark(1, 6).note(5))


def test_no_count_survives_the_score_of_its_record():
    kafka = topic(good(20))
    commit(kafka, 7, Mark(2, 8, 1).note(7))
    member = Member(kafka)
    member.poll()
    assert committed(kafka) == (7, Mark(3, 8, 1).note(7))
    member.score()
    member.poll()
    assert committed(kafka)[1] == ""
    follower = Member(kafka)
    follower.work()
    assert follower.buried == []


def test_b03_only_a_death_with_the_record_alone_in_the_model_condemns_it():
    """Kills from outside, at any time but that one, cost nobody a score."""
    rng = random.Random(5)
    kafka = topic(good(300), good(300))
    members = []
    while not done(kafka):
        member = Member(kafka, commit_every=3)
        members.append(member)
        member.work(turns=rng.randrange(1, 40))
        if any(mark and mark.trial == 1 for mark in (Mark.parse(committed(kafka, number)[1]) for number in (0, 1))):
            member.work()
    assert all_of(members, "buried") == []
    assert len(set(all_of(members, "scored"))) == 600


def test_what_cannot_be_read_is_no_reason_to_stop():
    kafka = topic(good(100))
    kafka.reachable = False
    member = Member(kafka)
    member.poll()
    kafka.reachable = True
    assert kafka.commits == []
    member.work()
    assert (committed(kafka), len(member.scored)) == ((100, ""), 100)


def test_no_trial_begins_before_its_mark_is_taken(monkeypatch):
    monkeypatch.setattr(trials_file, "RETRY_S", 0.0)
    kafka = topic(good(30))
    commit(kafka, 0, Mark(2, 30, 30).note(0))
    kafka.refuse_commit = lambda _: KafkaError(KafkaError.REBALANCE_IN_PROGRESS)
    member = Member(kafka)
    member.work(turns=5)
    assert (member.scored, committed(kafka)) == ([], (0, Mark(2, 30, 30).note(0)))
    kafka.refuse_commit = lambda _: None
    member.work()
    assert committed(kafka) == (30, "")


def test_foreign_metadata_is_taken_for_none():
    kafka = topic(good(30))
    commit(kafka, 3, "somebody else's words")
    member = Member(kafka)
    member.poll()
    assert committed(kafka) == (3, Mark(1, 30).note(3))


def test_a_mark_behind_the_first_record_is_forgotten():
    """What was suspected has been deleted by retention or compaction meanwhile."""
    kafka = topic(good(30))
    commit(kafka, 9, Mark(3, 9, 1).note(0))
    member = Member(kafka)
    member.trials.admit(member.source.poll(0))
    assert not member.trials.active
    assert committed(kafka) == (9, Mark(1, 30).note(9))


def test_the_others_go_on_as_soon_as_the_last_suspect_record_is_passed():
    kafka = topic(good(4))
    commit(kafka, 0, Mark(2, 4, 4).note(0))
    member = Member(kafka)
    member.work(turns=6)
    assert (committed(kafka), member.trials.active) == ((4, ""), False)


def test_a_trial_waits_for_the_batch_that_is_in_the_model_already():
    kafka = topic(good(20), good(20))
    kafka.manual = True
    commit(kafka, 0, Mark(2, 20).note(0))
    member = Member(kafka)
    member.consumer.give((TOPIC, 1))
    member.poll()
    batch = member.batcher.take()
    member.consumer.give((TOPIC, 0))
    for _ in range(5):
        member.poll()
        assert member.batcher.take() is None
    assert committed(kafka) == (0, Mark(2, 20).note(0))
    for part in batch.parts:
        member.offsets.finished(part)
    member.batcher.done()
    member.work()
    assert done(kafka)


def test_the_next_trial_waits_until_the_one_before_is_safe_at_the_broker():
    kafka = topic(good(20))
    commit(kafka, 0, Mark(2, 20).note(0))
    member = Member(kafka)
    member.poll()
    batch = member.batcher.take()
    member.batcher.done()
    for _ in range(5):
        member.poll()
        assert member.batcher.take() is None
    member.offsets.finished(batch.parts[0])
    member.poll()
    assert member.batcher.take().parts[0].offsets == [1]
    assert committed(kafka) == (1, Mark(3, 2, 1).note(1))


def test_a_suspect_without_further_records_does_not_hold_the_others_for_ever(monkeypatch):
    """A window may end in a gap that no record ever passes: an aborted transaction, a compacted tail."""
    monkeypatch.setattr(trials_file, "QUIET_S", 0.0)
    kafka = topic(good(5))
    kafka.write(TOPIC, b"good", offset=50)
    commit(kafka, 0, Mark(1, 40).note(0))
    kafka.topics[TOPIC][0].pop()
    monkeypatch.setattr(kafka.consumer({}).__class__, "get_watermark_offsets", lambda *_, **__: (0, 51))
    member = Member(kafka)
    member.work(turns=50)
    assert len(member.scored) == 5
    assert not member.trials.active


def test_partitions_that_leave_in_the_middle_of_a_trial_free_the_others():
    kafka = topic(good(60), good(60))
    commit(kafka, 0, Mark(2, 60).note(0))
    member = Member(kafka)
    member.poll()
    assert member.trials.active
    member.consumer.lose((TOPIC, 0))
    member.work(turns=40)
    assert not member.trials.active
    assert committed(kafka, 1)[0] == 60
    assert Mark.parse(committed(kafka)[1]) == Mark(3, 1, 1)
    assert all(number == 1 for number, _ in member.scored)
