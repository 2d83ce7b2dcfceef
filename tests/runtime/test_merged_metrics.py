"""The metrics of several workers under one label."""

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pelton.merged_metrics import merge
from pelton.metrics import Metrics

AWKWARD = ('fl"i\\ghts', "a} 1", 'x,worker="9', "line\nbreak", "", "worker", "# TYPE x y", "x,worker=", "\\")


def text(scored: int, topic: str = AWKWARD[0]) -> str:
    metrics = Metrics()
    metrics.scored.inc(scored)
    metrics.commit.observe(0.02)
    metrics.lag.labels(topic, "0").set(scored)
    return metrics.exposition()


def samples(merged: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Read a merged text as Prometheus does: values by name and labels."""
    found = [sample for family in text_string_to_metric_families(merged) for sample in family.samples]
    values = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}
    assert len(values) == len(found), "a series came twice"
    return values


def value(merged: str, name: str, **labels: str) -> float | None:
    return samples(merged).get((name, frozenset(labels.items())))


def test_each_sample_says_whose_it_is_and_is_else_as_it_was() -> None:
    texts = {"0": text(3), "1": text(4)}
    expected = {
        (name, labels | {("worker", worker)}): value
        for worker, own in texts.items()
        for (name, labels), value in samples(own).items()
    }
    assert samples(merge(texts)) == expected
    assert value(merge(texts), "pelton_scored_total", worker="0") == 3
    assert value(merge(texts), "pelton_commit_seconds_bucket", worker="0", le="0.01") == 0


def test_values_of_labels_are_no_syntax() -> None:
    for topic in AWKWARD:
        merged = merge({"0": text(3, topic), "1": text(4, topic)})
        assert value(merged, "pelton_lag_records", worker="1", topic=topic, partition="0") == 4, topic


def test_a_family_is_declared_once_and_stands_together_however_many_workers() -> None:
    lines = merge({"0": text(3), "1": text(4)}).splitlines()
    assert lines.count("# TYPE pelton_scored_total counter") == 1
    at = lines.index("# TYPE pelton_scored_total counter")
    assert lines[at + 1 : at + 3] == ['pelton_scored_total{worker="0"} 3.0', 'pelton_scored_total{worker="1"} 4.0']


def test_a_dead_worker_has_no_series() -> None:
    merged = merge({"0": "", "1": text(4)})
    assert 'worker="0"' not in merged
    assert 'pelton_scored_total{worker="1"} 4.0' in merged
    assert merge({"0": "", "1": ""}) == merge({}) == ""


def test_one_worker_that_sends_nonsense_does_not_hide_the_others() -> None:
    for nonsense in (
        'pelton_scored_total{ "',
        "pelton_scored_total{} \n",
        "pelton_scored_total 1.0",
        "<html>\n",
        "mine 1.0\n",
    ):
        merged = merge({"0": nonsense, "1": text(4)})
        assert value(merged, "pelton_scored_total", worker="1") == 4
        assert 'worker="0"' not in merged


def test_a_label_of_that_name_which_the_model_has_is_kept() -> None:
    registry = CollectorRegistry()
    for name, labels in (("mine", ["worker"]), ("ours", ["a", "worker", "z"]), ("theirs", ["coworker"])):
        Counter(name, "Help.", labels, registry=registry).labels(*labels).inc()
    merged = merge({"0": generate_latest(registry).decode()})
    assert value(merged, "mine_total", worker="0", exported_worker="worker") == 1
    assert value(merged, "ours_total", worker="0", exported_worker="worker", a="a", z="z") == 1
    assert value(merged, "theirs_total", worker="0", coworker="coworker") == 1


def test_what_is_not_finite_is_a_value_too() -> None:
    merged = merge({"0": "# HELP x X.\n# TYPE x gauge\nx +Inf\n", "1": "# HELP x X.\n# TYPE x gauge\nx NaN\n"})
    assert merged == '# HELP x X.\n# TYPE x gauge\nx{worker="0"} +Inf\nx{worker="1"} NaN\n'
