"""What is read of a request before its body: until when, who asks, and under which name."""

import math
from typing import Any

import pytest

from pelton.consumers import calls as module
from pelton.consumers.calls import Call, Patience, calls_of, lots
from pelton.schemas.records import Records
from pelton.schemas.request import RequestHead
from pelton.testing import make_message

NOW_S, NOW_MS = 5_000.0, 1_700_000_000_000
PATIENCE = Patience(default_s=10.0, most_s=60.0, skew_s=2.0)
TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Clocks:
    """The monotonic clock and the wall clock, both standing still."""

    def __init__(self) -> None:
        self.now_s = NOW_S

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return NOW_MS / 1000


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr(module, "time", found)
    return found


def received(*messages: Any) -> list[Call]:
    offsets = list(range(7, 7 + len(messages)))
    records = Records("asked", 3, 4, list(messages), offsets, [], 0, NOW_S - 0.5)
    return calls_of(records, PATIENCE)


def one(headers: Any = None, timestamp_ms: int = 0, **options: Any) -> Call:
    (call,) = received(make_message(b"{}", headers=headers, timestamp_ms=timestamp_ms, **options))
    return call


def left_s(call: Call) -> float:
    return call.deadline_s - NOW_S


@pytest.mark.parametrize(
    ("said_ms", "expected_s"),
    [
        (NOW_MS + 5_000, 7.0),  # five seconds, and the skew
        (NOW_MS, 2.0),
        (NOW_MS - 1_999, 0.001),  # the caller's clock is behind by no more than the skew
        (NOW_MS - 2_001, -0.001),
        (NOW_MS + 3_600_000, 60.0),  # never more than the longest there is
        (NOW_MS + 59_000, 60.0),
        (0, -NOW_MS / 1000 + 2),
    ],
)
def test_a_deadline_is_the_callers_with_the_skew_for_it_and_bounded(said_ms: int, expected_s: float) -> None:
    call = one([("pelton-deadline", b"%d" % said_ms)])
    assert left_s(call) == pytest.approx(expected_s)
    assert call.expired is (expected_s < 0)


@pytest.mark.parametrize(
    ("sent_ms", "expected_s"),
    [
        (NOW_MS, 12.0),
        (NOW_MS - 4_000, 8.0),
        (NOW_MS - 60_000, -48.0),  # it has lain in the topic for a minute
        (NOW_MS + 30_000, 12.0),  # a clock ahead of ours gives no time on top
        (0, 12.0),  # no timestamp
        (-1, 12.0),
    ],
)
def test_without_one_it_is_counted_from_when_the_request_was_sent(sent_ms: int, expected_s: float) -> None:
    assert left_s(one(timestamp_ms=sent_ms)) == pytest.approx(expected_s)


def test_a_deadline_ends_with_time(clocks: Clocks) -> None:
    call = one([("pelton-deadline", b"%d" % (NOW_MS + 1_000))])
    clocks.now_s += 2.999
    assert not call.expired
    clocks.now_s += 0.002
    assert call.expired


def test_each_record_is_a_call_that_knows_its_place() -> None:
    first, second = received(make_message(b"a"), make_message(b"b"))
    assert (first.offset, second.offset) == (7, 8)
    assert (first.origin, first.epoch, first.arrived_s) == (("asked", 3), 4, NOW_S - 0.5)
    assert (len(first), first.single, first.cancelled) == (0, True, False)


def test_lots_are_in_order_each_of_one_priority_with_its_own_deadline() -> None:
    told = [(9, 5_000), (9, 3_000), (4, 8_000), (9, 7_000)]
    headers = [[("pelton-priority", b"%d" % n), ("pelton-deadline", b"%d" % (NOW_MS + ms))] for n, ms in told]
    records = Records("asked", 3, 4, [make_message(b"", headers=each) for each in headers], [5, 6, 8, 9], [], 40, NOW_S)
    records.events = calls_of(records, PATIENCE)
    found = [(lot.priority, lot.offsets, round(lot.due_s - NOW_S, 3), lot.n_bytes) for lot in lots(records)]
    assert found == [(9, [5, 6], 5.0, 20), (4, [8], 10.0, 10), (9, [9], 9.0, 10)]


def test_an_address_is_id_topic_and_partition() -> None:
    headers = [("kafka_correlationId", b"\x00\xff"), ("kafka_replyTopic", b"r"), ("kafka_replyPartition", b"\0\0\0\5")]
    assert one(headers).address == (b"\x00\xff", "r", 5)
    assert one(headers[:1]).address == (b"\x00\xff", None, None)
    assert one(headers[1:]).address is None


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        (TRACE, "4bf92f3577b34da6a3ce929d0e0e4736"),
        (b"00-00000000000000000000000000000abc-00f067aa0ba902b7-00", "00000000000000000000000000000abc"),
        (b"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-new", "4bf92f3577b34da6a3ce929d0e0e4736"),
        (None, "c328ff"),
        (b"", "c328ff"),
        (b"00-4bf92f35-00f067aa0ba902b7-01", "c328ff"),
        (b"00-" + b"\xff" * 32 + b"-00f067aa0ba902b7-01", "c328ff"),
        (b"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "c328ff"),
        (b"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "c328ff"),
        (b"00-zzf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "c328ff"),
        (b"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "c328ff"),
        (b"00-<script>alert(1)</script>xxxxxxxx-00f067aa0ba902b7-01", "c328ff"),
    ],
)
def test_b33_a_trace_is_quoted_by_its_id_or_else_the_correlation_id_is(parent: bytes | None, expected: str) -> None:
    headers: list[tuple[str, bytes | None]] = [("kafka_correlationId", b"\xc3\x28\xff")]
    assert one([*headers, ("traceparent", parent)]).trace_id == expected


def test_a_long_correlation_id_is_cut_where_it_is_quoted() -> None:
    assert one([("kafka_correlationId", b"\xab" * 500)]).trace_id == "ab" * 16
    assert one().trace_id == ""


def test_b33_headers_that_cannot_be_read_are_a_fault_of_their_record_alone() -> None:
    before, bad, after = received(
        make_message(b"{}"), make_message(b"{}", headers=[("a", b"b")], readable=False), make_message(b"{}")
    )
    assert (before.head.fault, after.head.fault) == ("", "")
    assert bad.head == RequestHead(fault="the name of a header is not UTF-8")
    assert left_s(bad) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pelton-deadline", b"tomorrow"),
        ("pelton-deadline", b""),
        ("pelton-deadline", b"-1"),
        ("pelton-deadline", b"1.5"),
        ("pelton-deadline", b"9" * 16),
        ("pelton-deadline", b"0" * 5_000),  # Python refuses to read so many digits
        ("kafka_replyPartition", b"5"),
        ("kafka_replyPartition", b"\xff\xff\xff\xff"),
        ("kafka_replyTopic", b"\xc3\x28"),
    ],
)
def test_b33_a_header_at_fault_is_named_and_the_others_are_read(name: str, value: bytes) -> None:
    call = one([("kafka_correlationId", b"id"), (name, value)])
    assert name in call.head.fault
    assert call.head.correlation_id == b"id"
    assert math.isfinite(call.deadline_s)
