"""What the sink will not take: for a while, or never."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Message

from .conftest import Serve
from .outside import Outside, Position, Record, event
from .served import COMMITS_S, Served

SMALL, LIMIT, LARGER, HUGE = 50, 200_000, 300_000, 1_500_000
SLOW_PER_S = 10_000
GRAVES = {"max.message.bytes": str(LARGER)}
TABLE = {"max.message.bytes": str(LIMIT), "cleanup.policy": "compact"}


@pytest.fixture(scope="module")
def table(serve_here: Serve, quick_session: dict[str, int]) -> Served:
    """A compacted sink keyed as the events are, with room for small scores only; deletions are passed on."""
    return serve_here(
        sink_config=TABLE,
        dead_letter_config=GRAVES,
        stream={"key": "input-key", "tombstones": "pass", "forward_headers": ["seen"]},
        health={"sink_failing_s": 1},
        kafka={**quick_session, "client.id": f"table-{uuid.uuid4().hex[:8]}"},
    )


def scores_of(outside: Outside, table: Served, key: bytes) -> dict[Position, set[Any]]:
    """Return the scores of one key; at least once: beside a refused record others may be sent again, the same."""
    return {at: set(found) for at, found in outside.scores(table.sink, key).items()}


def letter_of(outside: Outside, table: Served, key: bytes, at: Position) -> Message:
    """Return the dead letter of a record, which is the only one of its key."""
    letters = [letter for letter in outside.read(table.dead_letter) if letter.key() == key]
    assert {int(dict(letter.headers())["__connect.errors.offset"]) for letter in letters} == {at.offset}
    return letters[0]


def test_b33_key_and_header_that_are_no_text_reach_the_sink_bit_for_bit(table: Served, outside: Outside) -> None:
    headers = [("seen", b"\xc3\x28"), ("unseen", b"\xff")]
    outside.send(table.source, Record(event(1), b"\x00\x83\xff", headers), Record(event(2), b"plain"))
    table.eventually(lambda: outside.finished(table.group, table.source))
    found = {message.key(): message.headers() for message in outside.read(table.sink)}
    assert found[b"\x00\x83\xff"] == [("seen", b"\xc3\x28")]
    assert not found[b"plain"]


def test_b11_deletion_is_passed_on_behind_the_score_it_deletes(table: Served, outside: Outside) -> None:
    outside.send(table.source, Record(event(3), b"k1"), Record(None, b"k1"), Record(event(4), b"k2"))
    table.eventually(lambda: outside.finished(table.group, table.source))
    found = [(m.key(), m.value() is None) for m in outside.read(table.sink) if m.key() in {b"k1", b"k2"}]
    assert found == [(b"k1", False), (b"k1", True), (b"k2", False)]


def test_b11_record_without_key_cannot_enter_a_table_and_harms_nobody(table: Served, outside: Outside) -> None:
    pid, buried = table.pid(), len(outside.read(table.dead_letter))
    outside.send(table.source, Record(event(5)), Record(None), Record(event(6), b"keyed"))
    table.eventually(lambda: outside.finished(table.group, table.source))
    assert b"keyed" in [message.key() for message in outside.read(table.sink)]
    letters = outside.read(table.dead_letter)[buried:]
    assert (letters[0].key(), letters[0].value()) == (None, event(5))
    assert dict(letters[0].headers())["pelton-error-code"] == b"invalid"
    assert table.pid() == pid


@pytest.fixture
def slow_sink(table: Served, outside: Outside) -> Iterator[None]:
    """The broker answers the table's producer late once that has sent more than ten seconds' worth."""
    outside.throttle_producer(table.settings["kafka"]["client.id"], SLOW_PER_S)
    yield
    outside.throttle_producer(table.settings["kafka"]["client.id"], 10**9)


@pytest.mark.usefixtures("slow_sink")
def test_b08_b01_nobody_leaves_and_nothing_is_committed_while_the_sink_is_slow(
    table: Served, outside: Outside, quick_session: dict[str, int]
) -> None:
    limit_s = quick_session["max.poll.interval.ms"] / 1000
    pid, members, moves = table.pid(), outside.members(table.group), table.log("partitions_assigned")
    sent = send_until_held_up(table, outside, limit_s)
    assert outside.committed(table.group, table.source)[0] <= sent[-2].offset
    (reason,) = table.eventually(lambda: table.health("ready")[1], within_s=2)
    assert reason.startswith("worker 0 is blocked")
    assert table.health("live")[0] == 200
    table.until_ready()
    table.eventually(lambda: outside.finished(table.group, table.source))
    scores = scores_of(outside, table, b"slow")
    assert [scores.get(at) for at in sent[-2:]] == [{4.0}, {6.0}]
    assert (table.pid(), outside.members(table.group), table.log("partitions_assigned")) == (pid, members, moves)


def send_until_held_up(table: Served, outside: Outside, limit_s: float) -> list[Position]:
    """Send until a delivery takes far longer than the limit; the broker needs a moment to take its quota in."""
    much = Record(event(1, letters=int(SLOW_PER_S * (10 + 2 * limit_s))), b"slow")
    sent: list[Position] = []

    def is_late() -> bool:
        return table.age_s("oldest_unfinished") > 1.5 * limit_s

    def is_held_up() -> bool:
        sent.extend(outside.send(table.source, much))
        table.eventually(lambda: is_late() or outside.finished(table.group, table.source))
        sent.extend(outside.send(table.source, Record(event(2), b"slow"), Record(event(3), b"slow")))
        table.eventually(lambda: is_late() or outside.finished(table.group, table.source))
        return is_late()

    table.eventually(is_held_up)
    return sent


@pytest.mark.parametrize("letters", [LARGER, HUGE], ids=["for the topic", "for the client"])
def test_b28_score_too_large_is_set_aside_alone(table: Served, outside: Outside, letters: int) -> None:
    pid, key = table.pid(), f"{letters} letters".encode()
    values = [event(x, letters=letters if x == 4 else SMALL) for x in range(10)]
    sent = outside.send(table.source, *(Record(value, key) for value in values))
    table.eventually(lambda: outside.finished(table.group, table.source))
    letter = letter_of(outside, table, key, sent[4])
    assert letter.value() == values[4]
    assert dict(letter.headers())["pelton-error-code"] == b"too_large"
    assert scores_of(outside, table, key) == {at: {"a" * SMALL} for at in sent if at != sent[4]}
    assert table.pid() == pid


def test_b28_dead_letter_too_large_even_for_the_dead_is_cut(table: Served, outside: Outside) -> None:
    value = b"not json " * 50_000
    sent = outside.send(table.source, Record(value, b"cut"), Record(event(7), b"whole"))
    table.eventually(lambda: outside.finished(table.group, table.source))
    letter = letter_of(outside, table, b"cut", sent[0])
    assert value.startswith(letter.value())
    assert 1000 < len(letter.value()) < LARGER < len(value)
    assert scores_of(outside, table, b"whole") == {sent[1]: {14.0}}


def test_b08_b52_nothing_is_lost_while_sink_or_dead_letter_topic_is_gone(
    table: Served, outside: Outside, topic_factory: Callable[..., str]
) -> None:
    for stuck, (gone, config) in enumerate(((table.sink, TABLE), (table.dead_letter, GRAVES))):
        outside.delete(gone)
        table.eventually(lambda gone=gone: gone in "".join(table.health("ready")[1]))
        sent = outside.send(table.source, Record(event(8), gone.encode()), Record(b"bad", gone.encode()))
        table.eventually(lambda: table.age_s("oldest_unfinished") > COMMITS_S)
        assert table.health("live")[0] == 200
        assert outside.committed(table.group, table.source)[0] <= sent[stuck].offset
        topic_factory(config=config, name=gone)
        table.until_ready()
        table.eventually(lambda: outside.finished(table.group, table.source))
        assert scores_of(outside, table, gone.encode()) == {sent[0]: {16.0}}
        assert b"bad" in [letter.value() for letter in outside.read(table.dead_letter)]
