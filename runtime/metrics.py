"""Every metric Pelton exposes, in one table: name, type, help, labels and buckets.

A metric is declared once, as an annotated attribute of `Metrics` (what a worker measures) or of
`SupervisorMetrics` (what its supervisor knows, in the file beside); `TABLE` is read from them. Every instance has a
registry of its own, so that two runtimes can live in one process. Time is in seconds. Everything
is observed per batch or per poll, never per record.
"""

from typing import Annotated

from prometheus_client import Counter, Gauge, Histogram, Info

from pelton.metric_labels import ANSWER, BATCH, BURIED, LANE, MOVE, REPLY, TRANSACTION, UNDECODED, VERDICT
from pelton.metric_table import Metric, MetricTable, Row, exposition, rows_of
from pelton.supervisor_metrics import SupervisorMetrics

__all__ = ["PREFIX", "TABLE", "Metric", "Metrics", "SupervisorMetrics", "exposition"]

PREFIX = "pelton_"

_SIZES = tuple(float(2**power) for power in range(13))
_SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_PARTITION = ("topic", "partition")


class Metrics(MetricTable):
    """What one worker measures. `metrics.scored.inc(n)`, `metrics.dead_letters.labels("malformed").inc()`."""

    records: Annotated[Counter, Row("pelton_records_total", "Records taken from Kafka, bad ones included.")]
    tombstones: Annotated[Counter, Row("pelton_tombstones_total", "Records with a null value.")]
    undecoded: Annotated[
        Counter,
        Row("pelton_decode_failures_total", "Records that are no event of the model.", ("code",), one_of=UNDECODED),
    ]
    scored: Annotated[Counter, Row("pelton_scored_total", "Records whose score is safe in the sink.")]
    dead_letters: Annotated[
        Counter,
        Row("pelton_dead_letters_total", "Records safe in the dead-letter topic.", ("code",), one_of=BURIED),
    ]
    batches: Annotated[
        Counter,
        Row("pelton_batches_total", "Batches scored, by what closed them.", ("lane", "reason"), one_of=BATCH),
    ]
    batch_size: Annotated[
        Histogram, Row("pelton_batch_size", "Records in a batch.", ("lane",), buckets=_SIZES, one_of=LANE)
    ]
    batch_fill: Annotated[
        Histogram,
        Row("pelton_batch_fill_ratio", "Share of `batch.max_size`.", ("lane",), buckets=_SHARES, one_of=LANE),
    ]
    batch_wait: Annotated[
        Histogram,
        Row(
            "pelton_batch_wait_seconds",
            "From poll of a batch's first record until it was taken to the model.",
            ("lane",),
            buckets=_FAST,
            one_of=LANE,
        ),
    ]
    prepare: Annotated[
        Histogram, Row("pelton_prepare_seconds", "Making model inputs of one call, on the CPU.", buckets=_FAST)
    ]
    device: Annotated[
        Histogram,
        Row("pelton_device_seconds", "One call of the model itself, until its device is done.", buckets=_FAST),
    ]
    finish: Annotated[Histogram, Row("pelton_finish_seconds", "Making scores of one call's outputs.", buckets=_FAST)]
    produce: Annotated[
        Histogram,
        Row(
            "pelton_produce_seconds",
            "Encoding a batch of the stream and handing it over, the wait for room included.",
            buckets=_FAST,
        ),
    ]
    commit: Annotated[
        Histogram,
        Row("pelton_commit_seconds", "A commit, from its begin to the broker's answer.", buckets=_SLOW),
    ]
    end_to_end: Annotated[
        Histogram,
        Row("pelton_end_to_end_seconds", "From poll until safe in the sink, a block at a time.", buckets=_SLOW),
    ]
    queue_records: Annotated[Gauge, Row("pelton_queue_records", "Records waiting for a batch.", ("lane",), one_of=LANE)]
    queue_bytes: Annotated[
        Gauge, Row("pelton_queue_bytes", "Bytes of the records waiting for a batch.", ("lane",), one_of=LANE)
    ]
    in_flight: Annotated[
        Gauge,
        Row(
            "pelton_in_flight_deliveries",
            "Scores, dead letters and answers sent and not yet safe.",
            ("lane",),
            one_of=LANE,
        ),
    ]
    ceiling: Annotated[
        Gauge, Row("pelton_batch_ceiling_records", "Most records in one call: less than max_size where memory ran out.")
    ]
    lag: Annotated[Gauge, Row("pelton_lag_records", "Records still to read, of the partitions held.", _PARTITION)]
    lag_age: Annotated[Gauge, Row("pelton_lag_seconds", "Age of the oldest record still to read, or 0.", _PARTITION)]
    drain: Annotated[Gauge, Row("pelton_drain_seconds", "What the lag takes at the rate of late.", _PARTITION)]
    verdict: Annotated[
        Gauge,
        Row(
            "pelton_partition_verdict",
            "1 for what is to be said of a partition's lag, else 0.",
            (*_PARTITION, "verdict"),
            one_of=VERDICT,
        ),
    ]
    rebalances: Annotated[
        Counter, Row("pelton_rebalances_total", "Times that partitions came or left.", ("kind",), one_of=MOVE)
    ]
    commits_refused: Annotated[
        Counter, Row("pelton_commits_refused_total", "Commits of offsets that the broker refused.")
    ]
    transactions: Annotated[
        Counter,
        Row(
            "pelton_transactions_total",
            "Transactions committed, aborted or lost with their producer.",
            ("end",),
            one_of=TRANSACTION,
        ),
    ]
    sink_retries: Annotated[
        Counter,
        Row("pelton_sink_retries_total", "Tries that failed: to commit, to deliver what was doubted, or an answer."),
    ]
    answers: Annotated[Counter, Row("pelton_answers_total", "Requests answered.", ("code",), one_of=ANSWER)]
    replies: Annotated[Counter, Row("pelton_replies_total", "What became of answers.", ("end",), one_of=REPLY)]
    repeats: Annotated[Counter, Row("pelton_repeats_total", "Requests that had come before: not computed again.")]
    cancels: Annotated[Counter, Row("pelton_cancels_total", "Requests taken back by their callers in time.")]
    reply: Annotated[
        Histogram,
        Row("pelton_reply_seconds", "From poll to delivery of the answer, the slowest of a few.", buckets=_SLOW),
    ]
    model: Annotated[Info, Row("pelton_model_info", "The model served: name, version, device.")]
    startup: Annotated[Gauge, Row("pelton_startup_seconds", "From process start to a warm model.")]

    def ended(self, end: str) -> None:
        """Count a transaction that was committed, aborted or lost."""
        self.transactions.labels(end).inc()

    def formed(self, lane: str, reason: str, records: int, fill: float, waited_s: float) -> None:
        """Count a batch: its lane, what closed it, its records, its share of the largest, and how long it waited."""
        self.batches.labels(lane, reason).inc()
        self.batch_size.labels(lane).observe(records)
        self.batch_fill.labels(lane).observe(fill)
        self.batch_wait.labels(lane).observe(waited_s)


TABLE: tuple[Metric, ...] = (*rows_of(Metrics), *rows_of(SupervisorMetrics))
"""Every metric, a worker's first, in the order of declaration."""
