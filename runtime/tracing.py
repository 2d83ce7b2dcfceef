"""What is traced of a worker: nothing, unless the settings ask for spans."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pelton.consumers.batch import Batch
from pelton.consumers.calls import Call
from pelton.errors import SettingsError
from pelton.models.package import ModelPackage
from pelton.schemas.codes import Code
from pelton.schemas.request import RequestHead
from pelton.schemas.settings import Settings


class Traces:
    """The spans of one road; these make none, and cost a call for each batch and answer."""

    def batch(self, batch: Batch) -> AbstractContextManager[Any]:  # noqa: ARG002
        """Return what a batch is scored within."""
        return nullcontext()

    def answer(self, call: Call, code: Code | None) -> RequestHead:  # noqa: ARG002
        """Return the head that an answer goes out under; the code is None where a remembered answer is sent again."""
        return call.head


class Tracing:
    """Makes the traces of each road, and ends with the worker; these make none."""

    def of(self, group: str, package: ModelPackage) -> Traces:  # noqa: ARG002
        """Return the traces of the road of a consumer group, scored by a model."""
        return Traces()

    def close(self, timeout_s: float) -> None:
        """Let the spans that wait leave, for `timeout_s` seconds at most."""


def start_tracing(settings: Settings, index: int) -> Tracing:
    """Return what traces a worker; raises SettingsError where spans are asked for and cannot be made or exported."""
    if not settings.tracing.enabled:
        return Tracing()
    try:
        from pelton.otel_provider import provider_of_environment  # noqa: PLC0415 - an extra that few installs have
        from pelton.otel_tracing import OtelTracing  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(f"tracing.enabled: needs the extra [otel]: pip install 'pelton[otel]' ({error})") from error
    return OtelTracing(provider_of_environment(index))
