"""The road of a record, and the whole of what a worker does: poll → decode → batch → score → write → commit."""

import time
from collections import Counter

import structlog

from pelton.commits import Commits
from pelton.consumers.assignment import Partition
from pelton.consumers.batch import Batch
from pelton.consumers.batcher import Batcher
from pelton.consumers.intake import Intake
from pelton.consumers.offsets import Offsets
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.metrics import Metrics
from pelton.models.scorer import Scorer
from pelton.outcomes import join_outcomes, scorable
from pelton.producers.exact_sink import ExactSink
from pelton.producers.sink import Sink
from pelton.producers.tickets import Settled
from pelton.progress import Progress
from pelton.schemas.codec import EventCodec
from pelton.schemas.rejection import Rejection
from pelton.totals import Totals
from pelton.tracing import Traces

log = structlog.get_logger(__name__)


class Loop:
    """One worker's road, from the topic to the committed offset.

    `turn` and `score` follow each other for ever. While `score` is inside a slow model, `turn` may run beside it in
    another thread, never twice at once: see `Relay`.
    """

    def __init__(
        self,
        *,
        source: Source,
        codec: EventCodec,
        batcher: Batcher,
        scorer: Scorer,
        sink: Sink | ExactSink,
        offsets: Offsets,
        trials: Trials,
        metrics: Metrics,
        progress: Progress,
        traces: Traces | None = None,
    ) -> None:
        self.source, self.codec, self.batcher, self.scorer = source, codec, batcher, scorer
        self.sink, self.offsets, self.trials = sink, offsets, trials
        self.metrics, self.progress, self.traces = metrics, progress, traces or Traces()
        self.totals = Totals()
        self._log = log.bind()
        self.intake = Intake(source, batcher)
        self.commits = Commits(source, offsets, trials, metrics, by_sink=sink.transactional)

    @property
    def polled_s(self) -> float:
        """When the poll loop last came round, on the monotonic clock; 0 before the first time."""
        return self.progress.poll_beat_s

    def turn(self, timeout_s: float) -> None:
        """Poll, decode, queue for a batch, and commit what has become safe; waits for records up to `timeout_s`."""
        self.progress.poll_beat_s = time.monotonic()
        for records in self.trials.admit(self.intake.next(self.trials.patience_s(timeout_s))):
            records.events = self.codec.decode([message.value() for message in records.messages])
            self.offsets.received(records)
            self.batcher.put(records)
            self.totals.records += len(records)
            self.metrics.records.inc(len(records))
        self.settle()
        self.trials.step()
        self.commits.when_due()

    def score(self, batch: Batch) -> None:
        """Score a batch and write the outcome of every record of it, unless its partition has left meanwhile."""
        started_s = self.progress.begin_batch()
        events = scorable(batch)
        scores = self.scorer.score(events)
        scored_s = time.monotonic()
        for records, outcomes in join_outcomes(batch, scores):
            if self.source.assignment.owns(records):
                self.sink.write(records, outcomes)
        finished_s = self.progress.end_batch()
        self.metrics.produce.observe(finished_s - scored_s)
        self.batcher.done()
        self._measure(batch, finished_s - started_s)
        if len(events) < batch.n_records:
            self._count_undecoded(batch)

    def settle(self) -> None:
        """Note the records whose outcomes have become safe at the broker; a transaction holds their offsets too."""
        for block in self.sink.settled():
            self.offsets.finished(block.records)
            self.metrics.end_to_end.observe(time.monotonic() - block.records.arrived_s)
            self._count(block)
        if self.sink.transactional:
            self.commits.note(self.offsets.committable())
        self.progress.oldest_unfinished_s = self.offsets.oldest_unfinished_s()

    def commit(self, *, wait: bool = False) -> None:
        """Commit the offsets below which everything is safe; those of transactions are committed by these alone."""
        self.commits.now(wait=wait)

    def give_back(self, partitions: list[Partition] | None = None) -> None:
        """Take back the marks on these partitions, or on all: this process ends its work there without dying.

        Not while a transaction may still commit offsets of its own: a mark that came after them would set them back.
        """
        if isinstance(self.sink, ExactSink):
            if self.sink.in_flight or self.sink.written.is_set():
                return
            self.settle()
        self.trials.give_back(partitions)

    def forget(self, partitions: list[Partition]) -> None:
        """Drop what is known of partitions that have left."""
        self.trials.forget(partitions)
        self.offsets.forget(partitions)

    def _measure(self, batch: Batch, took_s: float) -> None:
        fill = batch.n_records / self.batcher.max_size
        self.metrics.formed(batch.lane, batch.closed_by, batch.n_records, fill, batch.waited_s)
        self._log.debug("batch_scored", records=batch.n_records, closed_by=batch.closed_by.value, took_s=took_s)

    def _count_undecoded(self, batch: Batch) -> None:
        bad = [event for records in batch.parts for event in records.events if isinstance(event, Rejection)]
        for code, n in Counter(event.code for event in bad if event.stage == "decode").items():
            self.metrics.undecoded.labels(code).inc(n)

    def _count(self, block: Settled) -> None:
        buried = sum(block.refused.values())
        scored = len(block.records) - buried - block.tombstones
        self.totals.scored += scored
        self.totals.dead_letters += buried
        self.metrics.scored.inc(scored)
        if block.tombstones:
            self.metrics.tombstones.inc(block.tombstones)
        for code, n in block.refused.items():
            self.metrics.dead_letters.labels(code).inc(n)
