"""Spans of a served model, from a caller's own over the batch to the answer, as a collector gets them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from .asked import desk, desk_alone
from .collector import Collector, collecting
from .conftest import Serve
from .outside import Outside, Record, event

N = 40


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as found:
        for name, value in found.environ.items():
            monkeypatch.setenv(name, value)
        yield found


def test_a_callers_span_goes_on_over_the_batch_into_the_answer_and_events_are_linked(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside, collector: Collector
) -> None:
    asked = desk(serve, topic_factory, outside, tracing={"enabled": True}, batch={"max_size": 16})
    served, traces = asked.served, [(f"{n:032x}", f"{n:016x}") for n in range(1, N + 1)]
    headers = [f"00-{trace_id}-{span_id}-01" for trace_id, span_id in traces]
    sent = [Record(event(n), headers=[("traceparent", told.encode())]) for n, told in enumerate(headers)]
    outside.send(served.source, *sent)
    provider = TracerProvider()
    with asked.client() as client, provider.get_tracer("caller").start_as_current_span("ask") as asking:
        assert client.call({"x": 21}) == 42
    provider.shutdown()
    served.eventually(lambda: outside.finished(served.group, served.source))
    served.eventually(lambda: outside.finished(asked.group, asked.requests))
    assert collector.spans == []
    assert served.stop() == 0  # which lets them leave

    batches = collector.named(f"process {served.source}")
    assert sum(batch.attributes["messaging.batch.message_count"] for batch in batches) == N
    assert frozenset[Any]().union(*(batch.links for batch in batches)) == set(traces)
    assert all(batch.parent == "" and len(batch.links) <= 16 for batch in batches)
    scored = {dict(message.headers())["traceparent"].decode() for message in outside.read(served.sink)}
    assert scored == set(headers)

    caller = (f"{asking.get_span_context().trace_id:032x}", f"{asking.get_span_context().span_id:016x}")
    (batch,) = collector.named(f"process {asked.requests}")
    (answer,) = collector.named(f"answer {asked.requests}")
    (reply,) = outside.read(asked.replies)
    assert batch.links == {caller}
    assert answer.links == {batch.context}
    assert (answer.context[0], answer.parent) == caller
    assert tuple(dict(reply.headers())["traceparent"].decode().split("-")[1:3]) == answer.context
    assert answer.resource["service.name"] == "pelton"
    assert "Traceback" not in served.log_text()


def test_a_collector_that_is_away_costs_no_answer_and_no_clean_end(
    serve: Serve,
    topic_factory: Callable[..., str],
    outside: Outside,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    asked = desk_alone(serve, topic_factory, outside, tracing={"enabled": True})
    with asked.client() as client:
        assert client.call_many({"x": x} for x in range(100)) == [2 * x for x in range(100)]
    assert asked.served.stop() == 0


def test_an_exporter_that_is_not_installed_ends_the_start(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "smoke")
    asked = desk_alone(serve, topic_factory, outside, tracing={"enabled": True}, ready=False)
    assert asked.served.ended() == 2
    assert "no exporter smoke is installed" in asked.served.log_text()
