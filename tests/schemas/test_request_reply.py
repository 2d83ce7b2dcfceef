"""Requests and replies on the wire: what Spring Kafka's callers send is understood, what is wrong is named."""

import json
import struct
import uuid

import pytest

from pelton.schemas.codes import Code
from pelton.schemas.reply import decode_reply, encode_data, encode_error
from pelton.schemas.request import Request, RequestHead, read_head

# As ReplyingKafkaTemplate writes them: the 16 bytes of a random UUID, text in UTF-8, ByteBuffer.putInt.
SPRING = [
    ("kafka_correlationId", uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes),
    ("kafka_replyTopic", b"answers"),
    ("kafka_replyPartition", b"\x00\x00\x00\x02"),
]


def test_spring_kafkas_headers_are_understood() -> None:
    head = read_head(SPRING)
    assert head == RequestHead(
        correlation_id=bytes.fromhex("00112233445566778899aabbccddeeff"), reply_topic="answers", reply_partition=2
    )


def test_written_as_spring_kafka_writes_them() -> None:
    assert read_head(SPRING).headers() == SPRING


def test_what_is_written_is_read_again() -> None:
    head = RequestHead(b"\xff\x00", "t", 2**31 - 1, 1_700_000_000_123, 7, cancels=True, traceparent=b"00-aa-bb-01")
    assert ("pelton-priority", b"7") in head.headers()
    assert ("pelton-deadline", b"1700000000123") in head.headers()
    assert read_head([(name, bytes(value)) for name, value in head.headers() if isinstance(value, bytes)]) == head


@pytest.mark.parametrize("given", [None, [], [("other", b"x"), ("kafka_replyTopic", None)]])
def test_all_of_it_may_be_missing(given: list[tuple[str, bytes | None]] | None) -> None:
    assert read_head(given) == RequestHead()


def test_of_a_header_given_twice_the_last_counts() -> None:
    assert read_head([("kafka_replyTopic", b"first"), ("kafka_replyTopic", b"last")]).reply_topic == "last"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka_replyTopic", b"\xff"),
        ("kafka_replyPartition", b"2"),
        ("kafka_replyPartition", b"\x00" * 5),
        ("kafka_replyPartition", struct.pack(">i", -1)),
        ("pelton-deadline", b"soon"),
        ("pelton-deadline", b""),
        ("pelton-deadline", b"-1"),
        ("pelton-deadline", b"9" * 5000),
        ("pelton-priority", b""),
        ("pelton-priority", b"10"),
        ("pelton-priority", b"-1"),
        ("pelton-priority", "٣".encode()),
    ],
)
def test_b33_what_cannot_be_read_is_named_and_the_rest_is_there(name: str, value: bytes) -> None:
    head = read_head([(name, value), ("kafka_correlationId", b"id")])
    assert head.fault.startswith(name)
    assert head.correlation_id == b"id"
    assert (head.reply_topic, head.reply_partition, head.deadline_ms) == (None, None, None)


def test_a_request_knows_its_fields() -> None:
    assert Request.model_validate_json(b'{"inputs": [{"x": 1}]}') == Request(inputs=[{"x": 1}])
    with pytest.raises(ValueError, match="inputs"):
        Request.model_validate_json(b"{}")


def test_a_reply_holds_data_or_an_error() -> None:
    assert json.loads(encode_data([0.5, 1], "t1")) == {"code": "ok", "data": [0.5, 1], "trace_id": "t1"}
    assert json.loads(encode_error(Code.EXPIRED, "too late", "t2")) == {
        "code": "expired",
        "error": "too late",
        "trace_id": "t2",
    }
    assert decode_reply(b'{"code": "ok", "data": null, "trace_id": "", "later": 1}').data is None


@pytest.mark.parametrize(
    "value", [None, b"", b"[]", b'{"code": "fine"}', b'{"code": "expired"}', b'{"code": "ok", "error": "x"}', b"\xff"]
)
def test_what_is_no_reply_is_refused(value: bytes | None) -> None:
    with pytest.raises(ValueError, match="not a reply"):
        decode_reply(value)
