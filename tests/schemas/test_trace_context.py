"""What a header `traceparent` says, by the examples of the W3C recommendation and what it forbids."""

import pytest

from pelton.schemas.trace_context import TraceContext, read_traceparent

TRACE, SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 1),
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", 0),
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", 3),
        (b"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 1),
        (b"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like", 1),
    ],
)
def test_a_trace_context_is_read(value: bytes, flags: int) -> None:
    context = read_traceparent(value)
    assert context == TraceContext(TRACE, SPAN, flags)
    assert context.sampled is bool(flags & 1)
    assert context.header() == b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-%02x" % flags


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"00-1-2-01",
        b"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        b"00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        b"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
        b"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
        b"\xff" * 55,
    ],
)
def test_what_is_none_is_not_taken_for_one(value: bytes | None) -> None:
    assert read_traceparent(value) is None
