"""Ownership: a partition that left and came back is another assignment."""

from collections.abc import Callable

from pelton.consumers.assignment import Assignment
from pelton.schemas.records import Records

MAKE = Callable[..., Records]


def test_every_assignment_opens_an_epoch_for_what_it_adds() -> None:
    assignment = Assignment()
    first = assignment.assign([("in", 1), ("in", 0)])
    second = assignment.assign([("in", 2)])
    assert second > first
    assert [assignment.epoch(("in", n)) for n in range(4)] == [first, first, second, -1]
    assert assignment.partitions == [("in", 0), ("in", 1), ("in", 2)]


def test_b07_records_belong_to_the_assignment_they_were_polled_in(block: MAKE) -> None:
    assignment = Assignment()
    polled = block([5], epoch=assignment.assign([("in", 0), ("in", 1)]))
    assert assignment.owns(polled)
    assignment.revoke([("in", 0), ("other", 0)])
    assert not assignment.owns(polled)
    assert assignment.partitions == [("in", 1)]
    again = assignment.assign([("in", 0)])
    assert not assignment.owns(polled)
    assert assignment.owns(block([5], epoch=again))


def test_records_of_a_partition_that_was_never_owned_belong_to_nobody(block: MAKE) -> None:
    assert not Assignment().owns(block([5], epoch=-1))


def test_an_empty_assignment_opens_an_epoch_too() -> None:
    assignment = Assignment()
    assert assignment.assign([]) < assignment.assign([("in", 0)])
