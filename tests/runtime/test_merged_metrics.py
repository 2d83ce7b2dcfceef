"""The metrics of several workers under one label."""

from prometheus_client import CollectorRegistry

from pelton.merged_metrics import MergedMetrics
from pelton.metrics import Metrics, exposition


def merged(texts: dict[str, str]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(MergedMetrics(lambda: texts))
    return registry


def text(scored: int) -> str:
    metrics = Metrics()
    metrics.scored.inc(scored)
    metrics.commit.observe(0.02)
    metrics.lag.labels('fl"i\\ghts', "0").set(scored)
    return metrics.exposition()


def test_each_sample_says_whose_it_is() -> None:
    registry = merged({"0": text(3), "1": text(4)})
    assert registry.get_sample_value("pelton_scored_total", {"worker": "0"}) == 3
    assert registry.get_sample_value("pelton_scored_total", {"worker": "1"}) == 4
    labels = {"worker": "1", "topic": 'fl"i\\ghts', "partition": "0"}
    assert registry.get_sample_value("pelton_lag_records", labels) == 4
    assert registry.get_sample_value("pelton_commit_seconds_bucket", {"worker": "0", "le": "0.025"}) == 1
    assert registry.get_sample_value("pelton_commit_seconds_bucket", {"worker": "0", "le": "0.01"}) == 0


def test_a_family_is_declared_once_however_many_workers() -> None:
    assert exposition(merged({"0": text(3), "1": text(4)})).count("# TYPE pelton_scored_total counter\n") == 1


def test_a_dead_worker_has_no_series() -> None:
    texts = {"0": text(3), "1": text(4)}
    registry = merged(texts)
    texts["0"] = ""
    exposed = exposition(registry)
    assert 'worker="0"' not in exposed
    assert 'pelton_scored_total{worker="1"} 4.0' in exposed


def test_one_worker_that_sends_nonsense_does_not_hide_the_others() -> None:
    registry = merged({"0": 'pelton_scored_total{ "', "1": text(4)})
    assert registry.get_sample_value("pelton_scored_total", {"worker": "1"}) == 4


def test_a_label_of_that_name_which_the_model_has_is_kept() -> None:
    registry = merged({"0": 'mine{worker="blue"} 1.0\n'})
    assert registry.get_sample_value("mine", {"worker": "0", "exported_worker": "blue"}) == 1
