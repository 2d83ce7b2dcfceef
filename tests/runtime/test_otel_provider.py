"""Where spans go: what the OTEL_* variables say, and what is refused of it."""

import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pelton import otel_provider
from pelton.errors import SettingsError
from pelton.otel_tracing import OtelTracing
from pelton.schemas.settings import Settings
from pelton.tracing import Tracing, start_tracing

STREAM = {"topics": ["in"], "group": "g", "sink": "out"}
ON = Settings(model="m", stream=STREAM, tracing={"enabled": True})


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The providers that were made that of the process: a process has no other for the rest of its life."""
    found: list[Any] = []
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
    monkeypatch.setattr(trace, "set_tracer_provider", found.append)
    for name in ("TRACES_EXPORTER", "EXPORTER_OTLP_PROTOCOL", "EXPORTER_OTLP_TRACES_PROTOCOL", "SERVICE_NAME"):
        monkeypatch.delenv(f"OTEL_{name}", raising=False)
    monkeypatch.setattr(otel_provider, "entry_points", _Installed().find)
    yield found
    for provider in found:
        provider.shutdown()


class _Installed:
    """Exporters by name, as packages offer them."""

    def find(self, group: str, name: str) -> list[Any]:
        assert group == "opentelemetry_traces_exporter"
        self.name = name
        return [self] if name in {"otlp_proto_http", "otlp_proto_grpc", "memory", "broken"} else []

    def load(self) -> Any:
        if self.name == "broken":
            raise ImportError("no such library")
        return {"memory": InMemorySpanExporter}.get(self.name, type(self.name, (InMemorySpanExporter,), {}))


def exporters(provider: Any) -> list[str]:
    processors = provider._active_span_processor._span_processors
    return [type(each.span_exporter).__name__ for each in processors]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ["otlp_proto_http"]),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["otlp_proto_grpc"]),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            ["otlp_proto_http"],
        ),
        ({"OTEL_TRACES_EXPORTER": "memory"}, ["InMemorySpanExporter"]),
        ({"OTEL_TRACES_EXPORTER": "otlp, memory"}, ["otlp_proto_http", "InMemorySpanExporter"]),
        ({"OTEL_TRACES_EXPORTER": "none"}, []),
    ],
)
def test_the_exporters_are_those_of_the_environment(
    made: list[Any], monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], expected: list[str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert isinstance(start_tracing(ON, 3), OtelTracing)
    (provider,) = made
    assert exporters(provider) == expected
    resource = provider.resource.attributes
    assert (resource["service.name"], resource["pelton.worker"]) == ("pelton", 3)


def test_a_name_that_was_given_is_kept(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "risk")
    start_tracing(ON, 0)
    assert made[0].resource.attributes["service.name"] == "risk"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "no exporter zipkin is installed"),
        ("OTEL_TRACES_EXPORTER", "broken", "broken cannot be made: no such library"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke", "OTEL_EXPORTER_OTLP_PROTOCOL = 'smoke': must be one of"),
    ],
)
def test_what_cannot_be_exported_to_is_refused(
    made: list[Any], monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=told):
        start_tracing(ON, 0)
    assert made == []


def test_a_provider_that_is_there_already_is_used(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    there = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: there)
    assert otel_provider.provider_of_environment(0) is there
    assert made == []


def test_without_the_extra_tracing_is_refused_and_off_it_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for name in ("pelton.otel_provider", "pelton.otel_tracing"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SettingsError, match=r"needs the extra \[otel\]: pip install 'pelton\[otel\]'"):
        start_tracing(ON, 0)
    assert type(start_tracing(Settings(model="m", stream=STREAM), 0)) is Tracing


def test_b10_at_the_end_the_spans_that_wait_leave(made: list[Any]) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=60_000))
    provider.get_tracer("test").start_span("waiting").end()
    assert exporter.get_finished_spans() == ()
    OtelTracing(provider).close(20)
    assert [span.name for span in exporter.get_finished_spans()] == ["waiting"]
    provider.shutdown()


def test_b10_a_collector_that_does_not_answer_is_not_waited_for(made: list[Any]) -> None:
    go_on = threading.Event()

    class Stuck(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            go_on.wait(300)
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Stuck()))
    provider.get_tracer("test").start_span("waiting").end()
    OtelTracing(provider).close(0.05)
    assert not go_on.is_set()
    go_on.set()
    provider.shutdown()


@pytest.mark.parametrize("provider", [trace.NoOpTracerProvider(), SimpleNamespace(force_flush=lambda _: 1 / 0)])
def test_b10_what_a_provider_cannot_do_spoils_no_end(provider: Any) -> None:
    OtelTracing(provider).close(20)
