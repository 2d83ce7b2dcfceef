"""Where spans go and which are sampled: what the OTEL_* variables say, read by OpenTelemetry's own SDK."""

import os
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from pelton.errors import SettingsError

_OTLP = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def provider_of_environment(index: int) -> Any:
    """Return the provider of this process; one that is there already is somebody's choice, and is used as it is.

    Raises SettingsError for an exporter that is not installed or cannot be made.
    """
    there = trace.get_tracer_provider()
    if not isinstance(there, trace.ProxyTracerProvider):
        return there
    provider = TracerProvider(resource=_resource(index))
    for exporter in _exporters():
        provider.add_span_processor(BatchSpanProcessor(exporter))
    # For spans that the code of a model makes itself.
    trace.set_tracer_provider(provider)
    return provider


def _resource(index: int) -> Resource:
    found = Resource.create({"pelton.worker": index})
    unnamed = str(found.attributes[SERVICE_NAME]).startswith("unknown_service")
    return found.merge(Resource({SERVICE_NAME: "pelton"})) if unnamed else found


def _exporters() -> Iterator[Any]:
    for wanted in os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        name = _protocol() if wanted.strip() == "otlp" else wanted.strip()
        if name in {"", "none"}:
            continue
        found = entry_points(group="opentelemetry_traces_exporter", name=name)
        if not found:
            package = f"opentelemetry-exporter-{name.replace('_', '-')}"
            raise SettingsError(f"OTEL_TRACES_EXPORTER: no exporter {name} is installed; it may be in {package}")
        try:
            yield next(iter(found)).load()()
        except Exception as error:
            raise SettingsError(f"OTEL_TRACES_EXPORTER: {name} cannot be made: {error}") from error


def _protocol() -> str:
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    name = next((name for name in names if os.environ.get(name)), names[0])
    protocol = os.environ.get(name) or "http/protobuf"
    if protocol not in _OTLP:
        raise SettingsError(f"{name} = {protocol!r}: must be one of {', '.join(_OTLP)}")
    return _OTLP[protocol]
