"""How a score is addressed: key, value, partition, headers and time stamp."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from pelton.producers.channel import Manner
from pelton.schemas.rejection import Rejection

MAKE = Callable[..., Any]
BINARY = b"\x00\x83\xff"


def send(
    road: Any, block: Any, scores: list[Any], manner: Manner = Manner.FAST
) -> tuple[list[Message], list[KafkaError | None]]:
    """Write one block; return what the sink then holds, and the reports that came."""
    reports: list[KafkaError | None] = []
    channel = road.channel(manner)
    values, keys = road.outputs.encode(block, scores)
    road.outputs.produce(channel, block, values, keys, lambda error, _: reports.append(error))
    channel.producer.poll(0)
    return road.kafka.read("scores"), reports


def test_a_score_names_its_event_its_model_and_where_the_event_lies(rig: MAKE, records: MAKE) -> None:
    (message,), _ = send(rig(), records([17], partition=2), [0.25])
    assert json.loads(message.value()) == {
        "event_id": "e17",
        "model": "risk",
        "version": "1@abc",
        "source": {"topic": "events", "partition": 2, "offset": 17},
        "score": 0.25,
    }
    assert (message.key(), message.headers()) == (b"e17", None)


def test_b12_a_score_that_is_no_number_is_a_rejection_among_good_ones(rig: MAKE, records: MAKE) -> None:
    road = rig()
    values, _ = road.outputs.encode(records(range(5)), [1.0, float("nan"), float("inf"), float("-inf"), 2.0])
    assert [isinstance(value, Rejection) for value in values] == [False, True, True, True, False]
    assert [value.code.value for value in values if isinstance(value, Rejection)] == ["model_error"] * 3


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("event-id", [b"e7", b"e8", b"e9", b"e10"]),
        ("position", [b"events/1/7", b"events/1/8", b"events/1/9", b"events/1/10"]),
        ("input-key", [BINARY, None, b"", b"k" * 65_536]),
    ],
)
@pytest.mark.parametrize("manner", list(Manner))
def test_b33_keys_are_bytes_from_end_to_end(
    rig: MAKE, records: MAKE, key: str, expected: list[bytes | None], manner: Manner
) -> None:
    block = records([7, 8, 9, 10], partition=1, keys=[BINARY, None, b"", b"k" * 65_536])
    found, _ = send(rig(key=key), block, [0.5] * 4, manner)
    assert [message.key() for message in found] == expected


@pytest.mark.parametrize(("partition", "expected"), [(0, 0), (3, 3), (4, 0), (11, 3)])
def test_a_source_partition_has_one_sink_partition(rig: MAKE, records: MAKE, partition: int, expected: int) -> None:
    found, _ = send(rig(), records([1, 2], partition=partition), [0.5, 0.5])
    assert [message.partition() for message in found] == [expected, expected]


def test_by_key_the_partition_is_left_to_the_producer(rig: MAKE, records: MAKE) -> None:
    road = rig(partition="key", key="input-key")
    assert road.outputs.partition(records([1], partition=3)) == -1
    keys = [b"%d" % (n % 20) for n in range(100)]
    found, _ = send(road, records(range(100), keys=keys), [0.5] * 100, Manner.EACH)
    places = {(message.key(), message.partition()) for message in found}
    assert len(places) == 20
    assert len({partition for _, partition in places}) > 1


def test_b33_wanted_headers_are_copied_bit_for_bit_and_no_others(rig: MAKE, records: MAKE) -> None:
    road = rig(forward_headers=frozenset({"traceparent", "note"}))
    headers = [
        [("note", b"\xc3\x28"), ("secret", b"x"), ("traceparent", b"00-a"), ("note", b"again"), ("note", None)],
        None,
        [("secret", b"x")],
    ]
    found, _ = send(road, records([0, 1, 2], headers=headers), [0.5] * 3)
    assert [message.headers() for message in found] == [
        [("note", b"\xc3\x28"), ("traceparent", b"00-a"), ("note", b"again"), ("note", None)],
        None,
        None,
    ]
    assert [json.loads(message.value())["source"]["offset"] for message in found] == [0, 1, 2]


def test_b33_a_header_name_that_is_not_text_costs_only_its_own_record_the_headers(rig: MAKE, records: MAKE) -> None:
    road = rig(forward_headers=frozenset({"traceparent"}), id_attribute=None)
    headers = [[("traceparent", b"00-a")]] * 3
    found, _ = send(road, records([0, 1, 2], headers=headers, unreadable=frozenset({1})), [0.5] * 3)
    assert [message.headers() for message in found] == [[("traceparent", b"00-a")], None, [("traceparent", b"00-a")]]
    assert [message.key() for message in found] == [b"events/0/0", b"events/0/1", b"events/0/2"]


def test_the_time_of_the_event_is_kept_where_it_is_wanted(rig: MAKE, records: MAKE) -> None:
    stamps = [1_700_000_000_123, -1, 0]
    found, _ = send(rig(timestamp="event"), records([0, 1, 2], stamps_ms=stamps), [0.5] * 3)
    assert [message.timestamp()[1] for message in found] == [1_700_000_000_123, 0, 0]
    found, _ = send(rig(), records([0], stamps_ms=[1_700_000_000_123]), [0.5])
    assert [message.timestamp()[1] for message in found] == [0]


@pytest.mark.parametrize("rules", [{}, {"timestamp": "event"}])
@pytest.mark.parametrize(("manner", "n_reports"), [(Manner.FAST, 1), (Manner.EACH, 5), (Manner.SINGLY, 5)])
def test_the_last_message_or_each_has_a_report(
    rig: MAKE, records: MAKE, rules: dict[str, str], manner: Manner, n_reports: int
) -> None:
    _, reports = send(rig(**rules), records(range(5)), [0.5] * 5, manner)
    assert reports == [None] * n_reports


@pytest.mark.parametrize("rules", [{}, {"timestamp": "event"}])
@pytest.mark.parametrize("manner", list(Manner))
def test_b28_a_message_that_is_not_even_taken_is_reported_with_its_value(
    rig: MAKE, records: MAKE, rules: dict[str, str], manner: Manner
) -> None:
    road = rig(config={"message.max.bytes": 1000}, **rules)
    block = records([0, 1, 2])
    values, keys = road.outputs.encode(block, [0.5, "x" * 2000, 0.5])
    refused: list[tuple[int, str, bytes]] = []

    def report(error: KafkaError | None, message: Any) -> None:
        if error is not None:
            refused.append((error.code(), message.topic(), message.value()))

    road.outputs.produce(road.channel(manner), block, values, keys, report)
    assert refused == [(KafkaError.MSG_SIZE_TOO_LARGE, "scores", values[1])]


def test_b11_a_tombstone_keeps_its_key(rig: MAKE, records: MAKE) -> None:
    road = rig(key="input-key", tombstones="pass")
    channel, reports = road.channel(Manner.FAST), []
    block = records([5], partition=6, keys=[BINARY], values=[None])
    road.outputs.produce_tombstone(channel, block, 0, lambda error, _: reports.append(error))
    channel.producer.poll(0)
    (message,) = road.kafka.read("scores")
    assert (message.key(), message.value(), message.partition()) == (BINARY, None, 2)
    assert reports == [None]
