"""The search for the record that kills the process, over the deaths of many members; Kafka is in memory."""

import random
from collections import Counter

import pytest
from confluent_kafka import KafkaError

from pelton.consumers import trials as trials_file
from pelton.consumers.poison import Mark

from .member import KILLER, TOPIC, Member, all_of, commit, committed, done, good, live_and_die, topic


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
