"""Blocks of records split without losing or mixing anything."""

import pytest
from confluent_kafka import Message

from pelton.schemas.records import Records


def block(count: int, n_bytes: int = 0) -> Records:
    offsets = [100 + 3 * row for row in range(count)]
    messages = [Message(topic="t", partition=2, offset=offset, value=b"v") for offset in offsets]
    events = [f"event {row}" for row in range(count)]
    return Records("t", 2, 7, messages, offsets, events, n_bytes, 1.5)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 9])
def test_split_shares_every_column_out(n: int) -> None:
    whole = block(5, 103)
    head, tail = whole.split(n)
    assert (len(head), len(tail)) == (min(n, 5), max(0, 5 - n))
    assert head.offsets + tail.offsets == [100, 103, 106, 109, 112]
    assert head.events + tail.events == [f"event {row}" for row in range(5)]
    assert [m.offset() for m in (*head.messages, *tail.messages)] == whole.offsets
    assert head.n_bytes + tail.n_bytes == 103
    for part in (head, tail):
        assert (part.topic, part.partition, part.epoch, part.arrived_s) == ("t", 2, 7, 1.5)


def test_split_shares_bytes_by_count() -> None:
    head, tail = block(4, 400).split(1)
    assert (head.n_bytes, tail.n_bytes) == (100, 300)


def test_nothing_splits_into_nothing() -> None:
    head, tail = block(0).split(3)
    assert (len(head), len(tail), head.n_bytes, tail.n_bytes) == (0, 0, 0, 0)
