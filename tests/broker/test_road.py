"""Records of every kind through one served model, read back by a plain client."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka import Message

from .conftest import Serve
from .outside import Outside, Position, Record, event
from .served import Served

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def road(serve_here: Serve, topic_factory: Callable[..., str]) -> Served:
    """Twelve partitions in, four out, one for dead letters, all defaults; and a topic for each compression."""
    compressed = [topic_factory(1, {"compression.type": codec}, prefix=codec) for codec in CODECS[1:]]
    return serve_here(partitions=12, sink_partitions=4, more_topics=compressed)


def dead_letters(outside: Outside, served: Served) -> dict[Position, Message]:
    """Return the dead letters by the record they are of."""
    found = {}
    for message in outside.read(served.dead_letter):
        headers = dict(message.headers())
        topic, partition, offset = (headers[f"__connect.errors.{name}"] for name in ("topic", "partition", "offset"))
        position = Position(topic.decode(), int(partition), int(offset))
        assert position not in found, "the same record twice among the dead letters"
        found[position] = message
    return found


def settled(outside: Outside, served: Served) -> bool:
    return outside.finished(served.group, *served.sources)


def test_b03_undecodable_values_are_set_aside_and_the_good_ones_behind_them_are_scored(
    road: Served, outside: Outside
) -> None:
    bad = [b"not json", b"", b'{"a":', b"[1,2]", b"null", b"\xff\xfe", b'{"x": NaN}', b'{"x": 1e400}', b'{"x": "2"}']
    codes = [*["malformed"] * 6, *["not_finite"] * 2, "invalid"]
    sent = outside.send(road.source, *(Record(value, partition=3) for value in [*bad, event(1), event(2), event(3)]))
    road.eventually(lambda: settled(outside, road))
    buried = dead_letters(outside, road)
    assert [buried[at].value() for at in sent[:9]] == bad
    assert [dict(buried[at].headers())["pelton-error-code"].decode() for at in sent[:9]] == codes
    scores = outside.scores(road.sink)
    assert [scores.get(at) for at in sent] == [None] * 9 + [[2.0], [4.0], [6.0]]
    road.eventually(lambda: road.lag() == 0)


def test_b11_tombstone_empty_value_null_and_no_key_at_all_are_three_different_cases(
    road: Served, outside: Outside
) -> None:
    skipped = road.metric("pelton_tombstones_total")
    sent = outside.send(
        road.source,
        Record(None, b"k1", partition=1),
        Record(b"", b"k2", partition=1),
        Record(b"null", b"k3", partition=1),
        Record(None, None, partition=1),
        Record(event(4), None, partition=1),
    )
    road.eventually(lambda: settled(outside, road))
    buried = dead_letters(outside, road)
    assert [at in buried for at in sent] == [False, True, True, False, False]
    assert [(buried[at].key(), buried[at].value()) for at in sent[1:3]] == [(b"k2", b""), (b"k3", b"null")]
    scores = outside.scores(road.sink)
    assert [scores.get(at) for at in sent] == [None, None, None, None, [8.0]]
    road.eventually(lambda: road.metric("pelton_tombstones_total") == skipped + 2)


def test_b33_key_and_headers_that_are_no_text_reach_the_dead_letters_bit_for_bit(
    road: Served, outside: Outside
) -> None:
    headers = [("seen", b"\xc3\x28"), ("seen", b"again"), ("\N{WATER WAVE}", b""), ("none", None)]
    records = [
        Record(b"\xf0\x9f\x8c\x8a {", b"\x00\x83\xff", headers, 2),
        Record(b'{"x": "\xf0\x9f\x8c\x8a"}', b"k" * 65_536, headers, 2),
    ]
    *bad, good = outside.send(road.source, *records, Record(event(5), b"\x00\x83\xff", headers, 2))
    road.eventually(lambda: settled(outside, road))
    buried = dead_letters(outside, road)
    for at, record in zip(bad, records, strict=True):
        letter = buried[at]
        assert (letter.key(), letter.value(), letter.headers()[: len(headers)]) == (record.key, record.value, headers)
        ours = letter.headers()[len(headers) :]
        assert all(value.decode().isprintable() for _, value in ours)
    assert outside.scores(road.sink)[good] == [10.0]


def test_b52_dead_letter_of_partition_eleven_goes_to_a_topic_of_one_partition(road: Served, outside: Outside) -> None:
    bad, good = outside.send(road.source, Record(b"?", b"k", partition=11), Record(event(6), b"k", partition=11))
    road.eventually(lambda: settled(outside, road), within_s=5)
    assert dead_letters(outside, road)[bad].partition() == 0
    assert outside.scores(road.sink)[good] == [12.0]
    placed = {json.loads(m.value())["source"]["partition"]: m.partition() for m in outside.read(road.sink)}
    assert placed[11] == 11 % 4


def test_b62_records_in_every_compression_are_scored(road: Served, outside: Outside) -> None:
    sent = {}
    for number, codec in enumerate(CODECS):
        records = [Record(event(x), partition=number) for x in range(10)]
        places = outside.send(road.source, *records, **{"compression.type": codec})
        sent |= {at: 2.0 * x for x, at in enumerate(places)}
    for topic in road.sources[1:]:
        places = outside.send(topic, *(Record(event(x)) for x in range(10)))
        sent |= {at: 2.0 * x for x, at in enumerate(places)}
    assert len(sent) == 90
    road.eventually(lambda: settled(outside, road))
    scores = outside.scores(road.sink)
    assert {at: scores.get(at) for at in sent} == {at: [score] for at, score in sent.items()}
