"""Every metric Pelton exposes, in one table: name, type, help, labels and buckets.

A metric is declared once, as an annotated attribute of `Metrics` (what a worker measures) or of
`SupervisorMetrics` (what its supervisor knows); `TABLE` is read from them. Every instance has a
registry of its own, so that two runtimes can live in one process. Time is in seconds. Everything
is observed per batch or per poll, never per record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

PREFIX = "pelton_"

_SIZES = tuple(float(2**power) for power in range(13))
_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_PARTITION = ("topic", "partition")

_SUFFIXES = {
    "counter": ("", "_total", "_created"),
    "gauge": ("",),
    "histogram": ("", "_bucket", "_sum", "_count", "_created"),
    "info": ("", "_info"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What the table says of one metric, beside its name and type."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table; `attribute` is its name on `Metrics` or `SupervisorMetrics`."""

    attribute: str
    kind: str
    name: str
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...]

    @property
    def series(self) -> frozenset[str]:
        """Return the name of every series this metric can expose."""
        base = self.name.removesuffix("_total").removesuffix("_info")
        return frozenset(base + suffix for suffix in _SUFFIXES[self.kind])


class _Table:
    """Metrics declared as annotated attributes, made and registered on construction."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        for attribute, row, cls in _declared(type(self)):
            options = {"buckets": row.buckets} if row.buckets else {}
            metric = cls(row.name.removesuffix("_info"), row.help, row.labels, registry=self.registry, **options)
            setattr(self, attribute, metric)

    def exposition(self) -> str:
        """Return everything in Prometheus' text format."""
        return exposition(self.registry)


class Metrics(_Table):
    """What one worker measures. `metrics.scored.inc(n)`, `metrics.batches.labels("size").inc()`."""

    records: Annotated[Counter, Row("pelton_records_total", "Records taken from Kafka, bad ones included.")]
    tombstones: Annotated[Counter, Row("pelton_tombstones_total", "Records with a null value.")]
    scored: Annotated[Counter, Row("pelton_scored_total", "Records whose score is safe in the sink.")]
    dead_letters: Annotated[
        Counter,
        Row("pelton_dead_letters_total", "Records safe in the dead-letter topic, by error code.", ("code",)),
    ]
    batches: Annotated[Counter, Row("pelton_batches_total", "Batches scored, by what closed them.", ("reason",))]
    batch_size: Annotated[Histogram, Row("pelton_batch_size", "Records in a batch.", buckets=_SIZES)]
    batch_wait: Annotated[
        Histogram,
        Row("pelton_batch_wait_seconds", "From poll of a batch's first record to its start.", buckets=_FAST),
    ]
    prepare: Annotated[
        Histogram, Row("pelton_prepare_seconds", "Making model inputs of a batch, on the CPU.", buckets=_FAST)
    ]
    device: Annotated[Histogram, Row("pelton_device_seconds", "The model itself on one batch.", buckets=_FAST)]
    finish: Annotated[Histogram, Row("pelton_finish_seconds", "Making scores of a batch's outputs.", buckets=_FAST)]
    produce: Annotated[
        Histogram,
        Row("pelton_produce_seconds", "Encoding and handing a batch to the producer.", buckets=_FAST),
    ]
    commit: Annotated[Histogram, Row("pelton_commit_seconds", "One commit of offsets.", buckets=_SLOW)]
    end_to_end: Annotated[
        Histogram,
        Row("pelton_end_to_end_seconds", "From poll to delivery, a block of records at a time.", buckets=_SLOW),
    ]
    queue_records: Annotated[Gauge, Row("pelton_queue_records", "Records waiting for a batch.")]
    queue_bytes: Annotated[Gauge, Row("pelton_queue_bytes", "Bytes of the records waiting for a batch.")]
    in_flight: Annotated[
        Gauge, Row("pelton_in_flight_deliveries", "Scores, dead letters and answers sent, not yet acknowledged.")
    ]
    lag: Annotated[Gauge, Row("pelton_lag_records", "Records still to read, of the partitions held.", _PARTITION)]
    lag_age: Annotated[Gauge, Row("pelton_lag_seconds", "Age of the oldest record still to read, or 0.", _PARTITION)]
    drain: Annotated[Gauge, Row("pelton_drain_seconds", "What the lag takes at the rate of late.", _PARTITION)]
    rebalances: Annotated[
        Counter, Row("pelton_rebalances_total", "Partitions assigned, revoked or lost: events.", ("kind",))
    ]
    transactions: Annotated[
        Counter,
        Row("pelton_transactions_total", "Transactions committed, aborted or lost with their producer.", ("end",)),
    ]
    sink_retries: Annotated[
        Counter,
        Row("pelton_sink_retries_total", "Tries that failed: to commit, to deliver what was doubted, or an answer."),
    ]
    answers: Annotated[Counter, Row("pelton_answers_total", "Requests answered, by code.", ("code",))]
    replies: Annotated[
        Counter,
        Row("pelton_replies_total", "Answers sent: delivered, failed, forbidden or without a topic.", ("end",)),
    ]
    repeats: Annotated[Counter, Row("pelton_repeats_total", "Requests that had come before: not computed again.")]
    cancels: Annotated[Counter, Row("pelton_cancels_total", "Requests taken back by their callers in time.")]
    request_wait: Annotated[
        Histogram,
        Row("pelton_request_wait_seconds", "From poll of a batch's first request to its start.", buckets=_FAST),
    ]
    reply: Annotated[
        Histogram,
        Row("pelton_reply_seconds", "From poll to delivery of the answer, the slowest of a few.", buckets=_SLOW),
    ]
    request_queue: Annotated[Gauge, Row("pelton_request_queue_records", "Requests waiting for a batch.")]
    model: Annotated[Info, Row("pelton_model_info", "The model served: name, version, device.")]
    startup: Annotated[Gauge, Row("pelton_startup_seconds", "From process start to a warm model.")]

    def ended(self, end: str) -> None:
        """Count a transaction that was committed, aborted or lost."""
        self.transactions.labels(end).inc()


class SupervisorMetrics(_Table):
    """What the supervisor knows of its workers; it outlives each of their processes."""

    restarts: Annotated[Counter, Row("pelton_restarts_total", "Times a worker had to be started again.", ("worker",))]
    worker_state: Annotated[
        Gauge, Row("pelton_worker_state", "1 for the state a worker is in, else 0.", ("worker", "state"))
    ]
    oldest_unfinished: Annotated[
        Gauge,
        Row("pelton_oldest_unfinished_seconds", "Age of the oldest record polled, not written.", ("worker",)),
    ]
    poll_age: Annotated[Gauge, Row("pelton_poll_age_seconds", "Since the poll loop last came round.", ("worker",))]
    batch_age: Annotated[
        Gauge, Row("pelton_batch_age_seconds", "How long the batch in the model has run.", ("worker",))
    ]


def _declared(table: type[_Table]) -> Iterator[tuple[str, Row, Any]]:
    for attribute, hint in get_type_hints(table, include_extras=True).items():
        cls, row = get_args(hint)
        yield attribute, row, cls


def _rows(table: type[_Table]) -> Iterator[Metric]:
    for attribute, row, cls in _declared(table):
        yield Metric(attribute, cls.__name__.lower(), row.name, row.help, row.labels, row.buckets)


TABLE: tuple[Metric, ...] = (*_rows(Metrics), *_rows(SupervisorMetrics))
"""Every metric, a worker's first, in the order of declaration."""


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
