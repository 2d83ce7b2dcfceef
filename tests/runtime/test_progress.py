"""Progress in shared memory, seen from both ends."""

import os

import pytest

from pelton.progress import Progress

SLOTS = ("poll_beat_s", "batch_started_s", "batch_finished_s", "oldest_unfinished_s")


def test_the_other_end_sees_each_slot_and_no_slot_touches_another() -> None:
    ours = Progress.create()
    theirs = Progress.attach(os.dup(ours.fd))
    for number, slot in enumerate(SLOTS, start=1):
        setattr(theirs, slot, number + 0.123456789)
    assert [getattr(ours, slot) for slot in SLOTS] == [1.123456789, 2.123456789, 3.123456789, 4.123456789]
    theirs.close()
    ours.close()


def test_everything_begins_at_zero() -> None:
    progress = Progress.null()
    assert [getattr(progress, slot) for slot in SLOTS] == [0.0, 0.0, 0.0, 0.0]
    progress.close()


def test_what_was_written_outlives_the_writer() -> None:
    ours = Progress.create()
    theirs = Progress.attach(os.dup(ours.fd))
    theirs.poll_beat_s = 5.0
    theirs.close()
    assert ours.poll_beat_s == 5.0
    ours.close()


def test_descriptors_are_given_back() -> None:
    progress = Progress.create()
    fd = progress.fd
    taken = os.dup(fd)
    Progress.attach(taken).close()
    progress.close()
    progress.close()
    for closed in (fd, taken):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(closed)
