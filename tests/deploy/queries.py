"""What queries of Prometheus name: metrics, and labels with the values they are compared with."""

import re
from collections.abc import Iterator

from pelton.metrics import TABLE, Metric

SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}
SERIES = {metric.name + suffix: metric for metric in TABLE for suffix in SUFFIXES.get(metric.kind, ("",))}
"""What can be asked for, without the suffixes that Prometheus never sees."""
GIVEN = {"job", "instance", "namespace", "worker"}
"""Labels that every series has: the scrape's, and the worker's."""
INFO = {"pelton_model_info": {"name", "version", "device"}, "pelton_build_info": {"version", "python", "librdkafka"}}

_SELECTOR = re.compile(r"\b(pelton_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def selectors(query: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each metric of a query, with the labels it is selected by and their values."""
    for name, matchers in _SELECTOR.findall(query):
        yield name, {label: value for label, _, value in _MATCHER.findall(matchers)}


def faults(query: str) -> list[str]:
    """Return what a query asks for that no exposition can have."""
    found = []
    for name, labels in selectors(query):
        metric = SERIES.get(name)
        if metric is None:
            found.append(f"no metric {name}")
            continue
        for label, value in labels.items():
            if label not in labels_of(name, metric):
                found.append(f"{name} has no label {label}")
            elif label in metric.one_of and not set(value.split("|")) <= set(metric.one_of[label]):
                found.append(f"{name}: {label} is never {value}")
    return found


def labels_of(series: str, metric: Metric) -> set[str]:
    """Return the labels that a series of a metric has."""
    bucket = {"le"} if series.endswith("_bucket") else set()
    return {*metric.labels, *GIVEN, *bucket, *INFO.get(metric.name, set())}
