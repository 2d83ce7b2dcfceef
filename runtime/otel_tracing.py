"""Spans by OpenTelemetry: one for each batch, and one for each answer whose caller traces."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import msgspec
import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState

from pelton.consumers.batch import Batch
from pelton.consumers.calls import Call
from pelton.models.package import ModelPackage
from pelton.producers.bounded_call import call_within
from pelton.schemas.codes import CODES, Code
from pelton.schemas.headers import TRACEPARENT
from pelton.schemas.records import Message
from pelton.schemas.request import RequestHead
from pelton.schemas.trace_context import TraceContext, read_traceparent
from pelton.tracing import Traces, Tracing

log = structlog.get_logger(__name__)

MOST_LINKS = 128
"""As many as the SDK keeps of a span, unless OTEL_SPAN_LINK_COUNT_LIMIT says less."""
MOST_ID_BYTES = 64
OUR_FAULT = 500
"""From this HTTP status on a code is the server's fault."""


class OtelTraces(Traces):
    """The spans of one road, by the semantic conventions for messaging."""

    def __init__(self, tracer: trace.Tracer, group: str, package: ModelPackage) -> None:
        self._tracer = tracer
        self._attributes = {
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.consumer.group.name": group,
            "pelton.model.name": package.name,
            "pelton.model.version": package.version_address,
        }

    def batch(self, batch: Batch) -> AbstractContextManager[Any]:
        """Return the span of a batch, which links to those that its records come from; a trace of its own.

        A model that makes spans itself makes them within this one.
        """
        attributes: dict[str, Any] = {
            **self._attributes,
            "messaging.operation.name": "process",
            "messaging.batch.message_count": batch.n_records,
            "pelton.batch.closed_by": batch.closed_by.value,
            "pelton.batch.waited_s": batch.waited_s,
        }
        topics, name = {records.topic for records in batch.parts}, "process"
        if len(topics) == 1:
            attributes["messaging.destination.name"] = topic = topics.pop()
            name = f"process {topic}"
        links = list(islice(_links(batch), MOST_LINKS))
        span: AbstractContextManager[Any] = self._tracer.start_as_current_span(
            name, Context(), SpanKind.CONSUMER, attributes, links
        )
        return span

    def answer(self, call: Call, code: Code | None) -> RequestHead:
        """Make the span of an answer, a child of its caller's with a link to the batch; return the head to send under.

        It lasts from the poll of the request until now. A caller who does not trace gets none.
        """
        parent = read_traceparent(call.head.traceparent)
        if parent is None:
            return call.head
        span = self._tracer.start_span(
            f"answer {call.origin[0]}",
            trace.set_span_in_context(NonRecordingSpan(_context(parent, call.head.tracestate)), Context()),
            SpanKind.CONSUMER,
            self._attributes | _told(call, code),
            _link_to_current(),
            start_time=time.time_ns() - int((time.monotonic() - call.arrived_s) * 1e9),
        )
        if code is not None and CODES[code].http >= OUR_FAULT:
            span.set_status(StatusCode.ERROR)
            span.set_attribute("error.type", code.value)
        span.end()
        made = span.get_span_context()
        if not made.is_valid:  # of a provider that makes none
            return call.head
        ours = TraceContext(made.trace_id, made.span_id, made.trace_flags)
        return msgspec.structs.replace(call.head, traceparent=ours.header())


class OtelTracing(Tracing):
    """Makes traces by a provider, and gives it the time to export what waits when the worker ends."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def of(self, group: str, package: ModelPackage) -> Traces:
        """Return the traces of the road of a consumer group, scored by a model."""
        return OtelTraces(self._provider.get_tracer("pelton"), group, package)

    def close(self, timeout_s: float) -> None:
        """Let the spans that wait leave, for `timeout_s` seconds at most: a collector may be away for long."""
        flush = getattr(self._provider, "force_flush", None)
        if flush is None:
            return  # of a provider that is not the SDK's
        try:
            call_within(timeout_s, flush, int(timeout_s * 1000))
        except Exception as error:  # noqa: BLE001 - whatever an exporter raises, the worker's end is a good one
            log.warning("spans_lost", reason=str(error) or type(error).__name__)


def _links(batch: Batch) -> Iterator[Link]:
    """Yield a link to each span that records of a batch come from, if its maker recorded it."""
    seen: set[bytes | None] = set()
    for records in batch.parts:
        for message in records.messages:
            value = _traceparent(message)
            if value in seen:
                continue
            seen.add(value)
            found = read_traceparent(value)
            if found is not None and found.sampled:
                yield Link(_context(found))


def _traceparent(message: Message) -> bytes | None:
    try:
        return dict(message.headers() or ()).get(TRACEPARENT)
    except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
        return None


def _context(told: TraceContext, tracestate: bytes | None = None) -> SpanContext:
    state = TraceState.from_header([tracestate.decode("ascii", "replace")]) if tracestate else None
    flags = TraceFlags(told.flags)
    return SpanContext(told.trace_id, told.span_id, is_remote=True, trace_flags=flags, trace_state=state)


def _link_to_current() -> list[Link]:
    current = trace.get_current_span().get_span_context()
    return [Link(current)] if current.is_valid else []


def _told(call: Call, code: Code | None) -> dict[str, Any]:
    topic, partition = call.origin
    return {
        "messaging.operation.name": "answer",
        "messaging.destination.name": topic,
        "messaging.destination.partition.id": str(partition),
        "messaging.kafka.offset": call.offset,
        "messaging.message.conversation_id": (call.head.correlation_id or b"")[:MOST_ID_BYTES].hex(),
        **({"pelton.answer.remembered": True} if code is None else {"pelton.answer.code": code.value}),
    }
