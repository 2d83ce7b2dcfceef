"""Dead letters: the record byte for byte, its reason in headers, and cut where it has to be."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from pelton.producers.channel import Manner
from pelton.producers.dead_letters import DeadLetters
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection
from pelton.testing import make_message

MAKE = Callable[..., Any]
BAD = Rejection(Code.MALFORMED, "not JSON", "decode", "ValueError")


def bury(road: Any, message: Message) -> tuple[list[Message], list[str | None]]:
    """Write one dead letter; return what the topic then holds, and the names of the errors reported."""
    reports: list[str | None] = []
    channel = road.channel(Manner.SINGLY)
    producer = channel.producer
    road.dead_letters.produce(channel, message, BAD, lambda error, _: reports.append(error and error.name()))
    for _ in range(3):
        producer.poll(0)
    return road.kafka.read("dead"), reports


@pytest.mark.parametrize("value", [b"\x00\xff not json", b"", b"null", None])
@pytest.mark.parametrize("key", [b"\x00\x83\xff", b"", None])
def test_b11_b33_key_and_value_are_kept_byte_for_byte(rig: MAKE, value: bytes | None, key: bytes | None) -> None:
    (dead,), reports = bury(rig(), make_message(value, key, partition=3, offset=12, headers=[("h", b"\xc3\x28")]))
    assert (dead.value(), dead.key()) == (value, key)
    assert reports == [None]
    names = dict(dead.headers())
    assert names["h"] == b"\xc3\x28"
    assert names["__connect.errors.topic"] == b"events"
    assert names["__connect.errors.partition"] == b"3"
    assert names["__connect.errors.offset"] == b"12"
    assert names["pelton-error-code"] == b"malformed"
    assert names["pelton-model"] == b"risk@1@abc"


def test_b33_a_record_with_an_unreadable_header_name_still_arrives(rig: MAKE) -> None:
    (dead,), reports = bury(rig(), make_message(b"x", offset=4, readable=False))
    assert dead.value() == b"x"
    assert dict(dead.headers())["__connect.errors.offset"] == b"4"
    assert reports == [None]


@pytest.mark.parametrize("at", ["producer", "topic"])
def test_b28_a_value_that_does_not_fit_is_cut_and_reported_once(rig: MAKE, at: str) -> None:
    road = rig(config={"message.max.bytes": 20_000} if at == "producer" else {})
    if at == "topic":
        road.kafka.max_bytes["dead"] = 20_000
    value = bytes(range(256)) * 100
    (dead,), reports = bury(road, make_message(value, b"key", headers=[("h", b"v")]))
    assert dead.value() == value[:16_384]
    assert (dead.key(), dict(dead.headers())["h"]) == (b"key", b"v")
    assert reports == [None]


@pytest.mark.parametrize("value", [b"v" * 16_384, b"v" * 16_385, None])
def test_b28_what_does_not_fit_even_cut_is_given_up_after_one_more_try(rig: MAKE, value: bytes | None) -> None:
    road = rig()
    road.kafka.max_bytes["dead"] = 100
    found, reports = bury(road, make_message(value, b"k" * 200))
    assert (found, reports) == ([], ["MSG_SIZE_TOO_LARGE"])


def test_other_faults_are_handed_on_and_not_tried_again(rig: MAKE) -> None:
    road = rig()
    tried: list[Message] = []
    road.kafka.refuse = lambda m: tried.append(m) or KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no")
    found, reports = bury(road, make_message(b"v" * 50_000))
    assert (found, reports, len(tried)) == ([], ["TOPIC_AUTHORIZATION_FAILED"], 1)


def test_what_the_client_refuses_at_once_is_a_report_and_not_an_exception(rig: MAKE) -> None:
    road = rig()
    channel = road.channel(Manner.SINGLY)
    channel.producer.break_down(KafkaError(KafkaError._FATAL, "gone", fatal=True))
    with pytest.raises(KafkaException):
        channel.producer.poll(0)
    reports: list[str] = []
    message = make_message(b"x")
    road.dead_letters.produce(channel, message, BAD, lambda error, _: reports.append(error.name()))
    assert reports == ["_FATAL"]


@pytest.mark.parametrize(
    ("key", "headers"), [(b"k" * 30_000, None), (b"k", [("h", b"v" * 30_000)]), (b"k" * 30_000, [("h", b"v" * 30_000)])]
)
@pytest.mark.parametrize("at", ["producer", "topic"])
def test_b28_a_key_or_headers_that_do_not_fit_are_cut_as_well(rig: MAKE, at: str, key: bytes, headers: Any) -> None:
    """One record that fits nowhere must not end the worker again and again: a stump of it tells where it was."""
    road = rig(config={"message.max.bytes": 10_000} if at == "producer" else {})
    if at == "topic":
        road.kafka.max_bytes["dead"] = 10_000
    (dead,), reports = bury(road, make_message(b"not json" * 4_000, key, partition=3, offset=12, headers=headers))
    assert (dead.key(), dead.value()) == (key[:256], (b"not json" * 4_000)[:256])
    names = dict(dead.headers())
    assert "h" not in names
    assert names["__connect.errors.partition"] == b"3"
    assert names["__connect.errors.offset"] == b"12"
    assert names["__connect.errors.exception.message"].startswith(b"(key, value and headers cut) ")
    assert reports == [None]


@pytest.mark.parametrize(("value", "key"), [(b"v" * 9_000, b"k"), (b"v", b"k" * 9_000), (b"v" * 4_000, b"k" * 4_000)])
def test_b28_what_is_known_not_to_fit_is_cut_before_it_is_sent(rig: MAKE, value: bytes, key: bytes) -> None:
    """Inside a transaction a refusal costs everybody's work: 8,192 bytes are known to be the limit."""
    road = rig()
    road.dead_letters = DeadLetters("dead", "risk@1@abc", 8_192)
    tried: list[Message] = []
    road.kafka.refuse = lambda message: tried.append(message) or None
    (dead,), reports = bury(road, make_message(value, key))
    assert (dead.value(), dead.key()) == (value[:256], key[:256])
    assert (reports, len(tried)) == ([None], 1)


def test_b28_what_was_refused_once_is_not_tried_again_at_that_size(rig: MAKE) -> None:
    road = rig()
    road.kafka.max_bytes["dead"] = 30_000
    tried: list[Message] = []
    for _ in range(2):
        bury(road, make_message(b"v" * 50_000))
        road.kafka.refuse = lambda message: tried.append(message) or None
    assert len(tried) == 1
    assert [len(dead.value()) for dead in road.kafka.read("dead")] == [16_384] * 2


def test_b28_letters_that_are_too_large_together_are_not_cut(rig: MAKE) -> None:
    """In company the request was refused, and no letter of it; they are to be sent again one by one."""
    road = rig()
    road.kafka.max_bytes["dead"] = 30_000
    reports: list[str | None] = []
    channel = road.channel(Manner.TRANSACTED)
    for _ in range(2):
        message = make_message(b"v" * 20_000)
        road.dead_letters.produce(channel, message, BAD, lambda error, _: reports.append(error and error.name()))
    channel.producer.poll(0)
    assert (reports, road.kafka.read("dead")) == (["MSG_SIZE_TOO_LARGE"] * 2, [])
    (dead,), _ = bury(road, make_message(b"v" * 20_000))
    assert dead.value() == b"v" * 20_000
