"""The road of a request, from the topic to its caller: poll → receive → batch → score → reply → commit."""

import time
from collections import Counter, deque
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any

import structlog

from pelton.commits import Commits
from pelton.consumers.assignment import Partition
from pelton.consumers.batch import Batch
from pelton.consumers.batcher import Batcher
from pelton.consumers.calls import Call, Patience, calls_of, lots
from pelton.consumers.intake import Intake
from pelton.consumers.offsets import Offsets
from pelton.consumers.repeats import Repeats
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.metrics import Metrics
from pelton.models.scorer import Scorer
from pelton.producers.envelope import Sent
from pelton.producers.replies import Replies
from pelton.progress import Progress
from pelton.reception import CANCELLED, EXPIRED, Fate, Reception
from pelton.schemas.answer import answer_of
from pelton.schemas.codes import CODES, Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection
from pelton.schemas.reply import encode_error
from pelton.totals import Totals
from pelton.tracing import Traces

log = structlog.get_logger(__name__)

MOST_IN_FLIGHT = 10_000
LASTING = frozenset(code for code, info in CODES.items() if not info.retriable) - {Code.CANCELLED}
"""Codes of answers that would be the same if the question came again."""


class Desk:
    """One worker's requests: they share the device with the stream, and nothing else.

    As with `Loop`, `turn` and `score` may run beside each other in two threads, each never twice at once.
    """

    def __init__(
        self,
        *,
        source: Source,
        reception: Reception,
        patience: Patience,
        batcher: Batcher,
        scorer: Scorer,
        repeats: Repeats,
        replies: Replies,
        offsets: Offsets,
        trials: Trials,
        metrics: Metrics,
        progress: Progress,
        traces: Traces | None = None,
    ) -> None:
        self.source, self.batcher, self.offsets, self.trials = source, batcher, offsets, trials
        self.metrics, self.progress, self.sink = metrics, progress, replies
        self.totals, self.traces = Totals(), traces or Traces()
        self._reception, self._patience, self._repeats, self.scorer = reception, patience, repeats, scorer
        self.intake = Intake(source, batcher, lambda: replies.in_flight / MOST_IN_FLIGHT)
        self.commits = Commits(source, offsets, trials, metrics)
        self._open: dict[tuple[Partition, int], Call] = {}
        self._over: deque[Call] = deque()
        self._ends: deque[Sent] = deque()

    @property
    def polled_s(self) -> float:
        """When the poll loop last came round, on the monotonic clock; 0 before the first time."""
        return self.progress.request_beat_s

    def turn(self, timeout_s: float) -> None:
        """Poll, decide on each request, and commit what is answered; waits for requests up to `timeout_s`."""
        self.progress.request_beat_s = time.monotonic()
        for records in self.trials.admit(self.intake.next(self.trials.patience_s(timeout_s))):
            self.offsets.received(records)
            self._receive(records)
        self.settle()
        self.trials.step()
        self.commits.when_due()

    def score(self, batch: Batch) -> None:
        """Score the requests that somebody still waits for, and answer all of them."""
        started_s = self.progress.begin_batch()
        owned = [records for records in batch.parts if self.source.assignment.owns(records)]
        asked = [pair for records in owned for pair in self._of(records)]
        live = [call for call, event in asked if event is call and not (call.cancelled or call.expired)]
        scores = iter(self.scorer.score([event for call in live for event in call.events]))
        outcomes: dict[Call, Any] = {call: list(islice(scores, len(call))) for call in live}
        self._count(
            self._answer(call, outcomes.get(call) or self._why_not(call, event))
            for call, event in asked
            # What has left while the model worked is answered by its next owner, which may be this worker again.
            if self.source.assignment.epoch(call.origin) == call.epoch
        )
        self.progress.end_batch()
        self.batcher.done()
        fill = batch.n_records / self.batcher.max_size
        self.metrics.formed(batch.lane, batch.closed_by, batch.n_records, fill, batch.waited_s)
        log.debug("requests_scored", requests=batch.n_records, took_s=time.monotonic() - started_s)

    def settle(self) -> None:
        """Note the requests that are answered: delivery reports are what tells."""
        self.sink.serve()
        over = [self._over.popleft() for _ in range(len(self._over))]
        for end, n in Counter(self._ends.popleft() for _ in range(len(self._ends))).items():
            self.metrics.replies.labels(end).inc(n)
            self.totals.answered += n if end is Sent.DELIVERED else 0
        if over:
            self.metrics.reply.observe(time.monotonic() - min(call.arrived_s for call in over))
        for records in _as_records(over):
            self.offsets.finished(records)
        self.progress.oldest_request_s = self.offsets.oldest_unfinished_s()

    def commit(self, *, wait: bool = False) -> None:
        """Commit the offsets below which everything is answered."""
        self.commits.now(wait=wait)

    def give_back(self, partitions: list[Partition] | None = None) -> None:
        """Take back the marks on these partitions, or on all: this process ends its work there without dying."""
        self.trials.give_back(partitions)

    def forget(self, partitions: list[Partition]) -> None:
        """Drop what came in partitions that have left: their next owner answers it."""
        self.trials.forget(partitions)
        self.offsets.forget(partitions)
        self._repeats.forget(partitions)
        # In place: another thread may be taking calls out.
        for at in [at for at in list(self._open) if at[0] in partitions]:
            self._open.pop(at, None)

    def _receive(self, records: Records) -> None:
        records.events, kept = calls_of(records, self._patience), []
        for row, call in enumerate(records.events):
            fate = self._reception.receive(call, records.messages[row].value())
            if fate is Fate.TO_MODEL:
                self._open[call.origin, call.offset] = call
                kept.append(row)
            elif fate is Fate.OVER:
                self._over.append(call)
            elif isinstance(fate, Rejection):
                self._count([self._answer(call, fate)])
            elif isinstance(fate, bytes):
                self._reply([call], fate)
        for lot in lots(records.select(kept)) if kept else ():
            self.batcher.put(lot)

    def _of(self, records: Records) -> Iterable[tuple[Call, Any]]:
        """Yield each call of a block with what stands in its place: itself, or why it is not to be scored."""
        origin = (records.topic, records.partition)
        for offset, event in zip(records.offsets, records.events, strict=True):
            if call := self._open.pop((origin, offset), None):
                yield call, event

    def _why_not(self, call: Call, event: Any) -> Rejection:
        if isinstance(event, Rejection):
            return event
        return CANCELLED if call.cancelled else EXPIRED

    def _answer(self, call: Call, outcome: list[Any] | Rejection) -> Code:
        code, value = answer_of(outcome, call.trace_id, single=call.single)
        if call.expired and code is not Code.EXPIRED:
            code, value = Code.EXPIRED, encode_error(Code.EXPIRED, EXPIRED.reason, call.trace_id)
        twins = self._repeats.answered(call, value if code in LASTING else None)
        self._reply([call, *twins], value, code)
        return code

    def _count(self, codes: Iterable[Code]) -> None:
        for code, n in Counter(codes).items():
            self.metrics.answers.labels(code).inc(n)

    def _reply(self, calls: list[Call], value: bytes, code: Code | None = None) -> None:
        call = calls[0]
        if call.head.reply_topic is None:
            self._over.extend(calls)
        else:
            self.sink.send(self.traces.answer(call, code), value, call.trace_id, partial(self._sent, calls))

    def _sent(self, calls: list[Call], sent: Sent) -> None:
        self._ends.append(sent)
        self._over.extend(calls)


def _as_records(calls: list[Call]) -> Iterable[Records]:
    blocks: dict[tuple[Partition, int], list[int]] = {}
    for call in calls:
        blocks.setdefault((call.origin, call.epoch), []).append(call.offset)
    for ((topic, partition), epoch), offsets in blocks.items():
        yield Records(topic, partition, epoch, [], sorted(offsets), [], 0, 0.0)
