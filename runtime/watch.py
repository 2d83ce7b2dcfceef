"""What a worker tells of itself: its state, its status and its metrics, looked at once a second."""

import structlog

from pelton.consumers.assignment import Partition
from pelton.consumers.lag import Lag
from pelton.deadline import Deadline
from pelton.errors import KafkaFailure
from pelton.loop import Loop
from pelton.reports import PartitionStatus, Reporter, StatusReport
from pelton.states import WorkerState

log = structlog.get_logger(__name__)

REACH_EVERY_S = 5.0
ANSWER_S = 2.0


class Watch:
    """Looks at a running loop from the reporter's thread; never holds it up."""

    def __init__(
        self, loop: Loop, reporter: Reporter, lag: Lag, *, identity: StatusReport, sink_failing_s: float
    ) -> None:
        self._loop, self._reporter, self._lag = loop, reporter, lag
        self._identity, self._sink_failing_s = identity, sink_failing_s
        self._reach_due = Deadline.after(REACH_EVERY_S)
        self._unreachable = ""
        self._shown: set[Partition] = set()
        self._draining = False

    def drain(self) -> None:
        """Say that the worker takes nothing more; no other state is told from now on."""
        self._draining = True
        self._reporter.state(WorkerState.DRAINING)

    def joined(self) -> None:
        """Say that the group is joined; called from the poll thread."""
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
        lags = self._lags()
        return StatusReport(
            model=self._identity.model,
            version=self._identity.version,
            device=self._identity.device,
            startup_s=self._identity.startup_s,
            records=loop.totals.records,
            scored=loop.totals.scored,
            dead_letters=loop.totals.dead_letters,
            in_flight=loop.sink.in_flight,
            partitions=[
                PartitionStatus(
                    topic=topic,
                    partition=number,
                    position=loop.source.positions.get((topic, number)),
                    committed=loop.offsets.committed_in((topic, number)),
                    lag=lag,
                )
                for (topic, number), lag in lags.items()
            ],
        )

    def metrics(self) -> str:
        """Return the worker's metrics in Prometheus' text format."""
        loop = self._loop
        loop.metrics.queue_records.set(loop.batcher.n_records)
        loop.metrics.queue_bytes.set(loop.batcher.n_bytes)
        loop.metrics.in_flight.set(loop.sink.in_flight)
        return loop.metrics.exposition()

    def _judge(self) -> None:
        stuck = self._loop.sink.waiting_s() > self._sink_failing_s
        waiting = f"a delivery has been waiting for {self._sink_failing_s:g} s and more"
        if stuck and self._reporter.current is WorkerState.READY:
            self._tell(WorkerState.BLOCKED, waiting)  # at once; to ask the broker why may take its time
            return
        if stuck or self._unreachable or self._reach_due.expired:
            self._reach_due = Deadline.after(REACH_EVERY_S)
            self._unreachable = self._reach()
        source, problems = self._loop.source, self._problems()
        if not source.joined or (problems and not source.assignment.partitions):
            self._tell(WorkerState.JOINING, self._unreachable or problems)
        elif self._unreachable or stuck:
            self._tell(WorkerState.BLOCKED, self._unreachable or waiting)
        elif source.unreadable:
            unreadable = sorted(source.unreadable.items())
            self._tell(WorkerState.BLOCKED, "; ".join(f"{topic}/{n}: {why}" for (topic, n), why in unreadable))
        else:
            self._tell(WorkerState.REBALANCING if source.rebalancing else WorkerState.READY, problems)

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

    def _lags(self) -> dict[Partition, int | None]:
        loop = self._loop
        owned, positions = loop.source.assignment.partitions, loop.source.positions
        # A worker that ends does not wait for the broker's answer.
        unread = {} if self._unreachable or self._draining else self._unread({at: positions.get(at) for at in owned})
        lags = {at: unread[at] + loop.offsets.unfinished_in(at) if at in unread else None for at in owned}
        known = {at: lag for at, lag in lags.items() if lag is not None}
        for topic, number in self._shown - set(known):
            loop.metrics.lag.remove(topic, str(number))
        for (topic, number), lag in known.items():
            loop.metrics.lag.labels(topic, str(number)).set(lag)
        self._shown = set(known)
        return lags

    def _unread(self, positions: dict[Partition, int | None]) -> dict[Partition, int]:
        try:
            return self._lag.records(positions, ANSWER_S)
        except KafkaFailure as error:
            log.debug("lag_unknown", reason=str(error))
            return {}
