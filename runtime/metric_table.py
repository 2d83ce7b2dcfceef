"""How a metric is declared, once, as an annotated attribute; and what comes out of a registry."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args, get_type_hints

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

_SUFFIXES = {
    "counter": ("", "_total", "_created"),
    "gauge": ("",),
    "histogram": ("", "_bucket", "_sum", "_count", "_created"),
    "info": ("", "_info"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says of one metric, beside its type; `one_of` are the values of closed labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    one_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table; `attribute` is its name on `Metrics` or `SupervisorMetrics`."""

    attribute: str
    kind: str
    name: str
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...]
    one_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def series(self) -> frozenset[str]:
        """Return the name of every series this metric can expose."""
        base = self.name.removesuffix("_total").removesuffix("_info")
        return frozenset(base + suffix for suffix in _SUFFIXES[self.kind])


class MetricTable:
    """Metrics declared as annotated attributes, made and registered on construction.

    Where all labels are closed, every series begins at 0: Prometheus sees no increase in one that begins later.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        for attribute, row, cls in _declared(type(self)):
            options = {"buckets": row.buckets} if row.buckets else {}
            metric = cls(row.name.removesuffix("_info"), row.help, row.labels, registry=self.registry, **options)
            setattr(self, attribute, metric)
            if row.labels and set(row.labels) == row.one_of.keys():
                for values in product(*(row.one_of[label] for label in row.labels)):
                    metric.labels(*values)

    def exposition(self) -> str:
        """Return everything in Prometheus' text format."""
        return exposition(self.registry)


def _declared(table: type[MetricTable]) -> Iterator[tuple[str, Row, Any]]:
    for attribute, hint in get_type_hints(table, include_extras=True).items():
        cls, row = get_args(hint)
        yield attribute, row, cls


def rows_of(table: type[MetricTable]) -> Iterator[Metric]:
    """Yield the lines of a table, in the order of declaration."""
    for attribute, row, cls in _declared(table):
        yield Metric(attribute, cls.__name__.lower(), row.name, row.help, row.labels, row.buckets, row.one_of)


class _WithoutCreated(Collector):
    """A registry less the `_created` series, which double the series and say nothing we need."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Family]:
        for family in self._registry.collect():
            family.samples = [s for s in family.samples if not s.name.endswith("_created")]
            yield family


def exposition(registry: CollectorRegistry) -> str:
    """Return a registry in Prometheus' text format, without the `_created` series."""
    return generate_latest(_WithoutCreated(registry)).decode()
