"""When the start of a process is written down beside a committed offset, and when it is taken back."""

from pelton.consumers import trials as trials_file
from pelton.consumers.poison import Mark

from .member import TOPIC, Member, commit, committed, good, topic


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


def test_what_cannot_be_read_is_no_reason_to_stop():
    kafka = topic(good(100))
    kafka.reachable = False
    member = Member(kafka)
    member.poll()
    kafka.reachable = True
    assert kafka.commits == []
    member.work()
    assert (committed(kafka), len(member.scored)) == ((100, ""), 100)


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
