"""The trace that a caller is in, where it uses OpenTelemetry."""

import sys

from pelton.schemas.headers import TRACEPARENT, TRACESTATE
from pelton.schemas.trace_context import TraceContext


def trace_headers() -> list[tuple[str, str | bytes | None]]:
    """Return the headers that tell of the span that is active here, none without one.

    Only a program that has imported OpenTelemetry can have one, so nothing is imported for it.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return []
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return []
    headers: list[tuple[str, str | bytes | None]] = [
        (TRACEPARENT, TraceContext(span.trace_id, span.span_id, span.trace_flags).header())
    ]
    if span.trace_state:
        headers.append((TRACESTATE, span.trace_state.to_header().encode()))
    return headers
