"""What a worker tells of itself: its state, its status and its metrics, looked at once a second."""

import structlog

from pelton.consumers.lag import Lag
from pelton.deadline import Deadline
from pelton.desk import Desk
from pelton.errors import KafkaFailure
from pelton.loop import Loop
from pelton.partition_view import PartitionView
from pelton.reports import Reporter, StatusReport
from pelton.states import WorkerState

log = structlog.get_logger(__name__)

REACH_EVERY_S = 5.0
ANSWER_S = 2.0


class Watch:
    """Looks at a running loop from the reporter's thread; never holds it up."""

    def __init__(
        self,
        loop: Loop,
        reporter: Reporter,
        lag: Lag,
        *,
        identity: StatusReport,
        sink_failing_s: float,
        desk: tuple[Desk, Lag] | None = None,
    ) -> None:
        self._loop, self._reporter = loop, reporter
        self._desk = desk[0] if desk else None
        self._views = [PartitionView(loop, lag), *([PartitionView(*desk)] if desk else [])]
        self._identity, self._sink_failing_s = identity, sink_failing_s
        self._reach_due = Deadline.after(REACH_EVERY_S)
        self._unreachable = ""
        self._draining = False
        self._retries, self._late_s = 0, 0.0

    def drain(self) -> None:
        """Say that the worker takes nothing more; no other state is told from now on."""
        self._draining = True
        self._reporter.state(WorkerState.DRAINING)

    def joined(self) -> None:
        """Say that a group is joined; called from its poll thread."""
        if self._all_joined:
            self._tell(WorkerState.READY, self._problems())

    def moving(self) -> None:
        """Say that partitions leave; called from the poll thread, before the work in hand is waited for."""
        if self._reporter.current is WorkerState.READY:
            self._tell(WorkerState.REBALANCING, "")

    def status(self) -> StatusReport:
        """Return what `/status` shows of this worker, and tell the supervisor when its state has changed."""
        if not self._draining:
            self._judge()
        loop = self._loop
        return StatusReport(
            model=self._identity.model,
            version=self._identity.version,
            device=self._identity.device,
            startup_s=self._identity.startup_s,
            records=loop.totals.records,
            scored=loop.totals.scored,
            dead_letters=loop.totals.dead_letters,
            in_flight=loop.sink.in_flight,
            sink_attempts=loop.sink.tries.attempts,
            sink_failing_s=round(max(self._late_s, loop.sink.tries.failing_s()), 3),
            sink_reason=self._unreachable or loop.sink.tries.reason,
            # A worker that ends does not wait for the broker's answer.
            partitions=[
                status for view in self._views for status in view.look(ask=not (self._unreachable or self._draining))
            ],
        )

    def metrics(self) -> str:
        """Return the worker's metrics in Prometheus' text format."""
        loop = self._loop
        loop.metrics.queue_records.set(loop.batcher.n_records)
        loop.metrics.queue_bytes.set(loop.batcher.n_bytes)
        loop.metrics.in_flight.set(loop.sink.in_flight)
        retries, self._retries = loop.sink.tries.total - self._retries, loop.sink.tries.total
        loop.metrics.sink_retries.inc(retries)
        if self._desk is not None:
            loop.metrics.request_queue.set(self._desk.batcher.n_records)
        return loop.metrics.exposition()

    def _judge(self) -> None:
        waiting_s = self._loop.sink.waiting_s()
        stuck = waiting_s > self._sink_failing_s
        self._late_s = waiting_s if stuck else 0.0  # without a broker nobody refuses anything: it only waits
        waiting = f"a delivery has been waiting for {self._sink_failing_s:g} s and more"
        if stuck and self._reporter.current is WorkerState.READY:
            self._tell(WorkerState.BLOCKED, waiting)  # at once; to ask the broker why may take its time
            return
        if stuck or self._unreachable or self._reach_due.expired:
            self._reach_due = Deadline.after(REACH_EVERY_S)
            self._unreachable = self._reach()
        source, problems = self._loop.source, self._problems()
        if not self._all_joined or (problems and not source.assignment.partitions):
            self._tell(WorkerState.JOINING, self._unreachable or problems)
        elif self._unreachable or stuck:
            self._tell(WorkerState.BLOCKED, self._unreachable or waiting)
        elif source.unreadable:
            unreadable = sorted(source.unreadable.items())
            self._tell(WorkerState.BLOCKED, "; ".join(f"{topic}/{n}: {why}" for (topic, n), why in unreadable))
        else:
            self._tell(WorkerState.REBALANCING if source.rebalancing else WorkerState.READY, problems)

    @property
    def _all_joined(self) -> bool:
        return self._loop.source.joined and (self._desk is None or self._desk.source.joined)

    def _tell(self, state: WorkerState, reason: str) -> None:
        if not self._draining:
            self._reporter.state(state, reason)

    def _problems(self) -> str:
        return "; ".join(f"{topic}: {why}" for topic, why in sorted(self._loop.source.problems.items()))

    def _reach(self) -> str:
        try:
            self._loop.sink.reach(ANSWER_S)
        except KafkaFailure as error:
            return f"scores cannot leave: {error}"
        return ""
