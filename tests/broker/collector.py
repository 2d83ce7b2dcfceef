"""A collector of spans, as any that speaks OTLP over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Context = tuple[str, str]
"""Trace id and span id, in hex."""


@dataclass(frozen=True)
class Exported:
    """A span that has arrived."""

    name: str
    context: Context
    parent: str
    links: frozenset[Context]
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """Listens on loopback; `environ` is what tells a program to export there."""

    def __init__(self) -> None:
        self.spans: list[Exported] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._take(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}",
            "OTEL_BSP_SCHEDULE_DELAY": "600000",
        }

    def named(self, name: str) -> list[Exported]:
        """Return the spans of that name."""
        return [span for span in self.spans if span.name == name]

    def _take(self, body: bytes) -> None:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _plain(of_resource.resource.attributes)
            for span in (span for scope in of_resource.scope_spans for span in scope.spans):
                links = frozenset((link.trace_id.hex(), link.span_id.hex()) for link in span.links)
                context = (span.trace_id.hex(), span.span_id.hex())
                parent = span.parent_span_id.hex()
                self.spans.append(Exported(span.name, context, parent, links, _plain(span.attributes), resource))


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Collect until the end of the block."""
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()
        thread.join(20)
