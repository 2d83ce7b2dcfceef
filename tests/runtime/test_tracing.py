"""Spans of batches and answers, as OpenTelemetry's own exporter in memory gets them."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pelton.models.package import load_package
from pelton.otel_tracing import OtelTracing
from pelton.tracing import Traces

from .conftest import PACKAGES
from .desk_road import DeskRoad
from .relay_run import Run

pytestmark = pytest.mark.usefixtures("short_waits")
MAKE = Callable[..., Any]
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def parent(n: int, flags: str = "01", trace_id: str | None = None) -> bytes:
    """The header of the span `n` of a trace that has the same number, unless told."""
    return f"00-{trace_id or format(n, '032x')}-{n:016x}-{flags}".encode()


class Spans:
    """What was exported, and traces that are exported there."""

    def __init__(self) -> None:
        self.exporter, self.provider = InMemorySpanExporter(), TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.package = load_package(PACKAGES / "doubler" / "1")

    def of(self, group: str) -> Traces:
        return OtelTracing(self.provider).of(group, self.package)

    def named(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    yield made
    made.exporter.shutdown()


def linked(span: Any) -> set[tuple[int, int]]:
    return {(link.context.trace_id, link.context.span_id) for link in span.links}


def streamed(walk: Any, spans: Spans, done: Callable[[], bool]) -> None:
    """Let a stream be scored, with traces, until it is done."""
    walk.loop.traces = spans.of("g")
    run = Run(walk)
    run.await_that(done)
    run.end()
    if run.error is None:
        run.drain()


def asked(found: DeskRoad, spans: Spans, n: int) -> list[dict[str, bytes]]:
    """Let requests be answered, with traces; return the headers of the answers."""
    found.desk.traces = spans.of("rg")
    run = Run(SimpleNamespace(kafka=found.kafka, loop=found.desk))
    run.await_that(lambda: len(found.kafka.read("answers")) == n)
    assert run.drain()
    return [dict(message.headers()) for message in found.kafka.read("answers")]


def ask(found: DeskRoad, x: Any, name: str, *, within_s: float = 60.0, **headers: bytes) -> None:
    found.ask(x, name, within_s=within_s)
    message = found.kafka.topics["asked"][0][-1]
    message.headers().extend(headers.items())


def test_a_batch_is_one_span_that_links_to_where_its_records_come_from(road: MAKE, spans: Spans) -> None:
    walk = road(batch={"max_size": 6, "max_wait_ms": 60_000})
    for n, flags in ((1, "01"), (2, "01"), (3, "00"), (4, "01")):
        walk.write(n, headers=[("traceparent", parent(n, flags))])
    walk.write(5, headers=[("traceparent", parent(4))])
    walk.write(6, partition=1)
    streamed(walk, spans, lambda: len(walk.kafka.read("out")) == 6)
    (span,) = spans.exporter.get_finished_spans()
    assert (span.name, span.kind, span.parent) == ("process in", trace.SpanKind.CONSUMER, None)
    assert linked(span) == {(1, 1), (2, 2), (4, 4)}  # not the one whose maker did not record it, and each once
    attributes = dict(span.attributes)
    assert 0 <= attributes.pop("pelton.batch.waited_s") < 60
    assert attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "in",
        "messaging.consumer.group.name": "g",
        "messaging.batch.message_count": 6,
        "pelton.batch.closed_by": "size",
        "pelton.model.name": "doubler",
        "pelton.model.version": spans.package.version_address,
    }
    assert span.status.is_unset
    scores = [dict(message.headers() or ()).get("traceparent") for message in walk.kafka.read("out")]
    expected = [parent(1), parent(2), parent(3, "00"), parent(4), parent(4), None]
    assert sorted(scores, key=str) == sorted(expected, key=str)


def test_links_are_bounded(road: MAKE, spans: Spans) -> None:
    walk = road(batch={"max_size": 300, "max_wait_ms": 60_000})
    for n in range(1, 301):
        walk.write(n, headers=[("traceparent", parent(n))])
    streamed(walk, spans, lambda: len(walk.kafka.read("out")) == 300)
    (span,) = spans.named("process in")
    assert linked(span) == {(n, n) for n in range(1, 129)}
    assert span.dropped_links == 0


def test_headers_that_say_nothing_link_to_nothing(road: MAKE, spans: Spans) -> None:
    walk = road(batch={"max_size": 3, "max_wait_ms": 60_000})
    walk.write(1, headers=[("traceparent", b"garbage"), ("\xe9", b"")])
    walk.write(2, headers=[("traceparent", None)])
    walk.write(3, headers=[], readable=False)
    streamed(walk, spans, lambda: len(walk.kafka.read("out")) == 3)
    assert [linked(span) for span in spans.exporter.get_finished_spans()] == [set()]


def test_b05_the_batch_on_which_a_device_dies_says_so(
    road: MAKE, spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = road()

    def forward(_inputs: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(walk.model, "forward", forward)
    walk.write(1)
    streamed(walk, spans, lambda: bool(spans.exporter.get_finished_spans()))
    (span,) = spans.named("process in")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert "DeviceLost" in (span.status.description or "")


def test_an_answer_is_a_span_between_its_caller_and_the_batch(desk: MAKE, spans: Spans) -> None:
    found = desk(batch={"max_size": 2}, requests={"max_wait_ms": 60_000})
    ask(found, 1, "a", traceparent=f"00-{TRACE}-{SPAN}-01".encode(), tracestate=b"vendor=1")
    ask(found, 2, "b", traceparent=parent(7))
    first, second = asked(found, spans, 2)
    (batch,) = spans.named("process asked")
    assert linked(batch) == {(int(TRACE, 16), int(SPAN, 16)), (7, 7)}
    answers = {span.context.trace_id: span for span in spans.named("answer asked")}
    one, other = answers[int(TRACE, 16)], answers[7]
    assert (one.parent.span_id, other.parent.span_id) == (int(SPAN, 16), 7)
    assert first["traceparent"] == f"00-{TRACE}-{one.context.span_id:016x}-01".encode()
    assert first["tracestate"] == b"vendor=1"
    assert second["traceparent"].split(b"-")[2] == f"{other.context.span_id:016x}".encode()
    assert "tracestate" not in second
    batch_context = (batch.context.trace_id, batch.context.span_id)
    assert linked(one) == linked(other) == {batch_context}
    assert one.start_time <= batch.start_time <= batch.end_time
    assert one.kind is trace.SpanKind.CONSUMER
    attributes = dict(one.attributes)
    assert {name: attributes[name] for name in attributes if name.startswith("messaging.")} == {
        "messaging.system": "kafka",
        "messaging.operation.name": "answer",
        "messaging.operation.type": "process",
        "messaging.destination.name": "asked",
        "messaging.destination.partition.id": "0",
        "messaging.consumer.group.name": "rg",
        "messaging.kafka.offset": 0,
        "messaging.message.conversation_id": b"a".hex(),
    }
    assert attributes["pelton.answer.code"] == "ok"


def test_who_does_not_trace_gets_no_span_and_no_header(desk: MAKE, spans: Spans) -> None:
    found = desk()
    ask(found, 1, "a")
    ask(found, 2, "b", traceparent=b"00-no-trace-at-all")
    first, second = asked(found, spans, 2)
    assert "traceparent" not in first
    assert second["traceparent"] == b"00-no-trace-at-all"
    assert spans.named("answer asked") == []


def test_the_answer_to_who_does_not_record_goes_on_in_his_trace_unrecorded(desk: MAKE, spans: Spans) -> None:
    found = desk()
    ask(found, 1, "a", traceparent=f"00-{TRACE}-{SPAN}-00".encode())
    (headers,) = asked(found, spans, 1)
    version, trace_id, _, flags = headers["traceparent"].split(b"-")
    assert (version, trace_id, flags) == (b"00", TRACE.encode(), b"00")
    assert spans.named("answer asked") == []


def test_an_answer_that_is_the_callers_fault_is_no_error_of_ours(desk: MAKE, spans: Spans) -> None:
    found = desk()
    ask(found, b"not json", "a", traceparent=parent(1))
    asked(found, spans, 1)
    (span,) = spans.named("answer asked")
    assert (span.attributes["pelton.answer.code"], span.links) == ("malformed", ())
    assert span.status.is_unset


def test_an_answer_that_is_our_fault_is_an_error(desk: MAKE, spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    found = desk()

    def forward(_inputs: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(found.model, "forward", forward)
    ask(found, 1, "a", traceparent=parent(1))
    asked(found, spans, 1)
    (span,) = spans.named("answer asked")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.attributes["error.type"] == span.attributes["pelton.answer.code"] == "model_error"


def test_a_remembered_answer_goes_on_in_the_trace_of_the_repeat(desk: MAKE, spans: Spans) -> None:
    found = desk()
    ask(found, 1, "a", traceparent=parent(1))
    found.desk.traces = spans.of("rg")
    found.walk()
    ask(found, 1, "a", traceparent=parent(2))
    found.walk()
    first, second = [dict(message.headers())["traceparent"] for message in found.kafka.read("answers")]
    one, other = spans.named("answer asked")
    assert (one.parent.span_id, other.parent.span_id) == (1, 2)
    assert (first.split(b"-")[1], second.split(b"-")[1]) == (parent(1).split(b"-")[1], parent(2).split(b"-")[1])
    assert other.attributes["pelton.answer.remembered"] is True


@pytest.mark.parametrize("state", [b"", b"\xff\x00", b"=", b"a=1,a=2,,b", b"x" * 100_000])
def test_a_tracestate_that_is_none_costs_nobody_his_answer(desk: MAKE, spans: Spans, state: bytes) -> None:
    found = desk()
    ask(found, 1, "a", traceparent=parent(1), tracestate=state)
    (headers,) = asked(found, spans, 1)
    assert headers["traceparent"].startswith(parent(1)[:35])
    assert headers["tracestate"] == state


def test_a_provider_that_makes_no_spans_leaves_the_header_as_it_was(desk: MAKE, spans: Spans) -> None:
    found = desk()
    spans.provider = trace.NoOpTracerProvider()
    ask(found, 1, "a", traceparent=parent(1))
    (headers,) = asked(found, spans, 1)
    assert headers["traceparent"] == parent(1)


def test_without_tracing_the_header_comes_back_as_it_was(desk: MAKE) -> None:
    found = desk()
    ask(found, 1, "a", traceparent=parent(9), tracestate=b"vendor=1")
    found.walk()
    headers = dict(found.kafka.read("answers")[0].headers())
    assert (headers["traceparent"], headers["tracestate"]) == (parent(9), b"vendor=1")
