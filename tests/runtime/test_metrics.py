"""The table of metrics, and what comes out of it."""

from collections.abc import Iterable
from itertools import combinations

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from pelton.metrics import TABLE, Metric, Metrics, SupervisorMetrics

UNITS = ("_seconds", "_bytes", "_records", "_total", "_info", "_size", "_state", "_deliveries")


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
