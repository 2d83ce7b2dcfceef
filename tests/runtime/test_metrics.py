"""The table of metrics, and what comes out of it."""

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from pelton.consumers.batch import CloseReason, Lane
from pelton.metric_labels import OPEN_LABELS
from pelton.metrics import TABLE, Metric, Metrics, SupervisorMetrics
from pelton.models.package import load_package
from pelton.models.scorer import Scorer
from pelton.producers.envelope import Sent
from pelton.schemas.codes import CODES, Code
from pelton.states import LagState, WorkerState

PACKAGES = Path(__file__).parent.parent / "broker" / "packages"
UNITS = ("_seconds", "_bytes", "_records", "_ratio", "_total", "_info", "_size", "_state", "_deliveries", "_healthy")
UNITS += ("_threads", "_files", "_verdict", "_replicas")
CLOSED = {
    "lane": {*Lane},
    "reason": {*CloseReason},
    "state": {*WorkerState},
    "verdict": {*LagState},
    "probe": {"startup", "live", "ready"},
    "which": {"wanted", "present"},
    "kind": {"assigned", "revoked", "lost"},
    "pelton_transactions_total end": {"committed", "aborted", "lost"},
    "pelton_replies_total end": {*Sent},
    "pelton_answers_total code": {*Code},
    "pelton_dead_letters_total code": {code for code, info in CODES.items() if info.dead_letter},
    "pelton_decode_failures_total code": {Code.MALFORMED, Code.INVALID, Code.NOT_FINITE},
}
"""The values of each label, or of the label of one metric, as the code that sets it knows them."""


def clashes(table: Iterable[Metric]) -> set[str]:
    """Return every series that two metrics of a table would both expose."""
    return {name for one, other in combinations(table, 2) for name in one.series & other.series}


def test_b48_no_two_metrics_share_a_series() -> None:
    assert clashes(TABLE) == set()


@pytest.mark.parametrize(
    ("kind", "name"),
    [("gauge", "pelton_x"), ("gauge", "pelton_x_created"), ("counter", "pelton_x_total"), ("info", "pelton_x_info")],
)
def test_b48_a_clash_would_be_found(kind: str, name: str) -> None:
    taken = Metric("x", "counter", "pelton_x_total", "Help.", (), ())
    assert clashes([taken, Metric("y", kind, name, "Help.", (), ())])


def test_b48_two_runtimes_count_apart_in_one_process() -> None:
    ours, theirs = Metrics(), Metrics()
    Counter("pelton_scored_total", "A model's own, named like ours.", registry=CollectorRegistry()).inc(9)
    ours.scored.inc(3)
    assert value(ours, "pelton_scored_total") == 3
    assert value(theirs, "pelton_scored_total") == 0


def value(metrics: Metrics | SupervisorMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_names_follow_the_conventions_of_prometheus() -> None:
    assert [m.name for m in TABLE if not (m.name.startswith("pelton_") and m.name.endswith(UNITS))] == []
    assert [m.name for m in TABLE if m.name.endswith("_total") != (m.kind == "counter")] == []
    assert [m.name for m in TABLE if m.name.endswith("_info") != (m.kind == "info")] == []
    assert [m.name for m in TABLE if bool(m.buckets) != (m.kind == "histogram")] == []
    assert [m.name for m in TABLE if not m.help.endswith(".") or list(m.buckets) != sorted(set(m.buckets))] == []


def test_every_label_has_a_closed_set_of_values_or_a_bound() -> None:
    for metric in TABLE:
        assert set(metric.labels) - metric.one_of.keys() <= OPEN_LABELS.keys(), metric.name
        for label, values in metric.one_of.items():
            assert set(values) == (CLOSED.get(label) or CLOSED[f"{metric.name} {label}"]), (metric.name, label)
            assert len(set(values)) == len(values)
    assert OPEN_LABELS.keys() == {label for metric in TABLE for label in set(metric.labels) - metric.one_of.keys()}


def test_series_of_closed_labels_begin_at_zero_since_no_increase_shows_in_one_that_begins_later() -> None:
    metrics = Metrics()
    assert value(metrics, "pelton_dead_letters_total", code="model_error") == 0
    assert value(metrics, "pelton_batches_total", lane="requests", reason="deadline") == 0
    assert value(metrics, "pelton_batch_wait_seconds_count", lane="stream") == 0


def test_every_line_of_the_table_is_exposed_with_its_type_and_help() -> None:
    exposed = "".join(owner().exposition() for owner in (Metrics, SupervisorMetrics))
    for metric in TABLE:
        assert f"# HELP {metric.name} {metric.help}\n" in exposed
        assert f"# TYPE {metric.name} {'gauge' if metric.kind == 'info' else metric.kind}\n" in exposed


def test_nothing_is_exposed_that_the_table_does_not_hold() -> None:
    metrics = Metrics()
    metrics.model.info({"name": "flight-delay"})
    metrics.dead_letters.labels("malformed").inc(2)
    known = {series for metric in TABLE for series in metric.series}
    families = list(text_string_to_metric_families(metrics.exposition()))
    names = {sample.name for family in families for sample in family.samples}
    assert names <= known
    assert {name for name in names if name.endswith("_created")} == set()
    assert {"pelton_dead_letters_total", "pelton_model_info", "pelton_batch_size_bucket"} <= names


def test_series_of_a_revoked_partition_go() -> None:
    metrics = Metrics()
    for partition in ("0", "1"):
        metrics.lag.labels("flights", partition).set(5)
    metrics.lag.remove("flights", "0")
    assert value(metrics, "pelton_lag_records", topic="flights", partition="0") is None
    assert value(metrics, "pelton_lag_records", topic="flights", partition="1") == 5


def test_b48_ten_reloads_beside_a_model_that_registers_names_of_ours_leave_every_count_as_it_was() -> None:
    package = load_package(PACKAGES / "namesake" / "1")
    runtimes = []
    for reload in range(1, 11):
        metrics = Metrics()
        scorer = Scorer(package.load("cpu"), package, 8, fixed_shape=False, metrics=metrics)
        scorer.start()
        for _ in range(reload):
            scorer.score(list(package.codec().decode([b'{"x": 1}'])))
        metrics.scored.inc(reload)
        runtimes.append(metrics)
    for reload, metrics in enumerate(runtimes, 1):
        assert value(metrics, "pelton_scored_total") == reload
        assert value(metrics, "pelton_device_seconds_count") == reload
        assert value(metrics, "pelton_queue_records", lane="stream") == 0
