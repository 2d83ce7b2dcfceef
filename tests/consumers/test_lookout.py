"""What a reader would get next: read once, and remembered for as long as it holds."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from pelton.consumers.lookout import Ahead, Lookout
from pelton.deadline import Deadline

from .log_reader import LogReader

AT, ALSO = ("in", 0), ("in", 1)


def soon() -> Deadline:
    return Deadline.after(5)


@pytest.mark.parametrize(
    ("log", "reached", "end", "ahead"),
    [
        ({7: 70, 8: 80}, 7, 9, Ahead(7, 70)),
        ({7: 70, 9: 90}, 8, 10, Ahead(9, 90)),  # a hole of compaction, or a marker between
        ({7: 70}, 8, 9, Ahead()),  # a marker ends it
        ({}, 0, 12, Ahead()),  # nothing but aborted records
        ({7: None}, 7, 8, Ahead(7, None)),  # a record without a time
        ({7: 70, 12: 120}, 8, 12, Ahead()),  # what came since the end was asked for is for the next look
    ],
)
def test_b15_b16_the_next_record_is_read_and_not_guessed(
    log: dict[int, int | None], reached: int, end: int, ahead: Ahead
) -> None:
    lookout = Lookout(LogReader({AT: log}))  # type: ignore[arg-type]
    assert lookout.look({AT: reached}, {AT: end}, soon()) == {AT: ahead}


def test_what_was_seen_holds_until_the_reader_has_passed_it() -> None:
    reader = LogReader({AT: {5: 50, 9: 90}, ALSO: {}})
    lookout = Lookout(reader)  # type: ignore[arg-type]
    for reached, end in ((3, 10), (4, 30), (5, 40)):
        assert lookout.look({AT: reached, ALSO: 2}, {AT: end, ALSO: 4}, soon()) == {AT: Ahead(5, 50), ALSO: Ahead()}
    assert reader.assigned == [{AT: 3, ALSO: 2}]
    assert lookout.look({AT: 6, ALSO: 3}, {AT: 40, ALSO: 4}, soon())[AT] == Ahead(9, 90)
    assert reader.assigned[1:] == [{AT: 6}]
    # A reader set back, and an end that has moved on, are asked for again: from where nothing is known.
    assert lookout.look({AT: 2, ALSO: 3}, {AT: 40, ALSO: 5}, soon()) == {AT: Ahead(5, 50), ALSO: Ahead()}
    assert reader.assigned[2:] == [{AT: 2, ALSO: 4}]
    assert [lookout.passed(ALSO, reached, 5) for reached in (1, 3, 4, 5, 6)] == [1, 3, 5, 5, 6]


@pytest.mark.parametrize("old", [{}, {100: 10}])
def test_b16_what_was_seen_of_a_topic_before_it_was_made_anew_says_nothing(old: dict[int, int | None]) -> None:
    reader = LogReader({AT: old})
    lookout = Lookout(reader)  # type: ignore[arg-type]
    lookout.look({AT: 90}, {AT: 101}, soon())
    reader.logs[AT] = {93: 70}
    assert lookout.passed(AT, 92, 95) == 92
    assert lookout.look({AT: 92}, {AT: 95}, soon()) == {AT: Ahead(93, 70)}


def test_a_partition_that_does_not_answer_is_left_out_and_asked_again() -> None:
    reader = LogReader({AT: {5: 50}, ALSO: {6: 60}})
    reader.silent = {ALSO}
    lookout = Lookout(reader)  # type: ignore[arg-type]
    assert lookout.look({AT: 5, ALSO: 6}, {AT: 9, ALSO: 9}, Deadline.after(0.01)) == {AT: Ahead(5, 50)}
    assert reader.held == {}
    reader.silent = set()
    assert lookout.look({AT: 5, ALSO: 6}, {AT: 9, ALSO: 9}, soon()) == {AT: Ahead(5, 50), ALSO: Ahead(6, 60)}
    assert reader.assigned[-1] == {ALSO: 6}


def test_what_the_broker_refuses_is_told_and_nothing_stays_assigned() -> None:
    reader = LogReader({AT: {5: 50}})
    reader.error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        Lookout(reader).look({AT: 5}, {AT: 9}, soon())  # type: ignore[arg-type]
    assert reader.held == {}
