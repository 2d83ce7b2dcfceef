"""A caller that traces: its span goes along with what it sends, unless it names another."""

import sys
from typing import Any

import pytest
from opentelemetry import trace

from pelton.producers.ambient_trace import trace_headers
from pelton.producers.event_producer import EventProducer
from pelton.testing import FakeKafka

from .caller import Caller

TRACEPARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def span() -> Any:
    """`with span():` makes one the active span."""
    state = trace.TraceState([("vendor", "1")])
    ids = {"trace_id": 0x4BF92F3577B34DA6A3CE929D0E0E4736, "span_id": 0x00F067AA0BA902B7}
    context = trace.SpanContext(**ids, is_remote=False, trace_flags=trace.TraceFlags(1), trace_state=state)
    return lambda: trace.use_span(trace.NonRecordingSpan(context))


def sent(caller: Caller, **details: Any) -> dict[str, bytes]:
    (request,) = caller.requests(caller.call(**details))
    return dict(request.headers())


def test_without_opentelemetry_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert trace_headers() == []


def test_a_call_carries_the_active_span(span: Any) -> None:
    caller = Caller()
    with span():
        headers = sent(caller)
    assert headers["traceparent"] == TRACEPARENT
    assert headers["tracestate"] == b"vendor=1"
    assert "traceparent" not in sent(caller)


def test_a_trace_that_is_named_goes_before_the_active_one(span: Any) -> None:
    with span():
        headers = sent(Caller(), traceparent=b"00-1-2-01")
    assert headers["traceparent"] == b"00-1-2-01"
    assert "tracestate" not in headers


@pytest.mark.parametrize("given", [None, b"00-1-2-01"])
def test_an_event_carries_the_active_span_unless_it_has_one(span: Any, given: bytes | None) -> None:
    kafka = FakeKafka({"events": 1})
    with EventProducer("none", "events", make_producer=kafka.producer) as producer, span():
        producer.send({"x": 1}, headers=[("traceparent", given)] if given else ())
    headers = kafka.read("events")[0].headers()
    assert [value for name, value in headers if name == "traceparent"] == [given or TRACEPARENT]
