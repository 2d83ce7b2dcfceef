"""Marks: what is read out of a commit's metadata, and what is concluded from it."""

import pytest

from pelton.consumers.poison import Mark, Watched, died
from pelton.deadline import Deadline
from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection


def records(offsets: list[int]) -> Records:
    return Records("in", 0, 1, [None] * len(offsets), offsets, [f"event {at}" for at in offsets], 0, 0.0)


def watched(starts: int, until: int, trial: int = 0) -> Watched:
    mark = Mark(starts, until, trial)
    return Watched(mark, mark, 0, Deadline.after(60))


def test_a_mark_comes_back_from_its_note():
    note = Mark(starts=2, until=9_000_000_000, trial=17).note(position=5)
    assert note == "pelton:starts=2;until=9000000000;trial=17"
    assert Mark.parse(note) == Mark(2, 9_000_000_000, 17)


@pytest.mark.parametrize(
    "foreign",
    [
        None,
        "",
        "host-17",
        "pelton",
        "pelton:",
        "pelton:starts=2;until=12",
        "pelton:starts=-1;until=12;trial=0",
        "pelton:starts=1;until=12;trial=0;more=1",
        " pelton:starts=1;until=12;trial=0",
        "pelton:starts=1;until=12;trial=0\n",
        "pelton:starts=²;until=12;trial=0",
        "pelton:starts=1;until=" + "9" * 4000 + ";trial=0",
        "\x00\u2028�",
        '{"leader":"other"}',
    ],
)
def test_metadata_of_others_is_no_mark(foreign):
    assert Mark.parse(foreign) is None


def test_nothing_is_noted_at_the_end_of_the_window_or_without_a_start():
    assert Mark(1, 10).note(9) != ""
    assert Mark(1, 10).note(10) == ""
    assert Mark(0, 10).note(0) == ""


@pytest.mark.parametrize(
    ("mark", "offset", "condemned"),
    [
        (Mark(3, 8, 1), 7, True),
        (Mark(4, 8, 1), 7, True),
        (Mark(2, 8, 1), 7, False),  # a start is left
        (Mark(3, 8, 0), 7, False),  # it was in company
        (Mark(3, 9, 2), 7, False),  # so were these two
        (Mark(3, 8, 1), 6, False),  # not the record that was alone
        (Mark(3, 8, 1), 8, False),
    ],
)
def test_b03_only_the_record_that_was_alone_at_the_last_start_is_condemned(mark, offset, condemned):
    assert mark.condemns(offset, limit=3) is condemned


def test_trials_shrink_to_one_record_at_the_last_start():
    assert Mark(1, 10_000).trial_size(0, limit=3) == 100
    assert Mark(2, 100).trial_size(0, limit=3) == 1
    assert Mark(1, 10_000).trial_size(0, limit=2) == 1
    assert [Mark(1, 10**8).trial_size(0, 5), Mark(2, 10**6).trial_size(0, 5)] == [10**6, 10**4]
    assert Mark(7, 100).trial_size(0, limit=3) == 1


def test_a_trial_is_marked_with_one_start_more_and_its_own_end():
    trial = watched(starts=1, until=110)
    assert trial.begin_trial(records(list(range(10, 60))), limit=3) == 10
    assert (trial.now, trial.position) == (Mark(2, 20, 10), 10)
    trial.end_trial(Deadline.after(1))
    assert trial.now == Mark(1, 110)


def test_a_trial_goes_no_further_than_what_is_suspected():
    trial = watched(starts=1, until=13)
    assert trial.begin_trial(records([10, 12, 13, 14]), limit=9) == 2
    assert trial.now == Mark(2, 13, 2)


def test_records_behind_the_window_are_no_trial():
    assert watched(starts=2, until=13).begin_trial(records([13, 14]), limit=3) == 0


def test_b03_the_condemned_record_takes_its_rejection_and_keeps_its_mark():
    head = records([7, 9])
    trial = watched(starts=3, until=8, trial=1)
    assert trial.begin_trial(head, limit=3) == 1
    assert head.events == [died(3), "event 9"]
    assert trial.now == Mark(3, 8, 1)


def test_the_rejection_says_what_happened():
    rejection = died(3)
    assert isinstance(rejection, Rejection)
    assert (rejection.code, rejection.stage, rejection.exception) == (Code.MODEL_ERROR, "forward", "ProcessDied")
    assert rejection.attempts == 3
    assert "died 3 times" in rejection.reason
