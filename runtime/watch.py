"""What a worker tells of itself: its state, its status and its metrics, looked at once a second."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict

import msgspec
import structlog
from prometheus_client import Counter

from pelton.busy import Busy
from pelton.consumers.batch import Lane
from pelton.consumers.lag import Lag
from pelton.deadline import Deadline
from pelton.doubted_rights import DoubtedRights
from pelton.errors import KafkaFailure
from pelton.partition_view import PartitionView
from pelton.reports import Reporter, StatusReport
from pelton.road import Road
from pelton.schemas.settings_groups import Health
from pelton.states import WorkerState
from pelton.totals import Totals
from pelton.worst_lag import WorstLag

log = structlog.get_logger(__name__)

REACH_EVERY_S = 5.0
ANSWER_S = 2.0
LEAVES = {Lane.STREAM: "scores", Lane.REQUESTS: "answers"}


class Watch:
    """Looks at the roads of a worker from the reporter's thread; never holds them up."""

    def __init__(
        self,
        roads: Mapping[Road, Lag],
        reporter: Reporter,
        *,
        identity: StatusReport,
        health: Health,
        ask_rights: Callable[[], None] = lambda: None,
    ) -> None:
        self._roads, self._reporter = list(roads), reporter
        self._views = [PartitionView(road, lag, health) for road, lag in roads.items()]
        self._metrics = self._roads[0].metrics
        self._identity, self._sink_failing_s = identity, health.sink_failing_s
        self._worst, self._busy = WorstLag(health), Busy(self._roads)
        self._rights = DoubtedRights(self._roads, ask_rights)
        self._reach_due = Deadline.after(REACH_EVERY_S)
        self._unreachable = ""
        self._draining = False
        self._late_s = 0.0
        self._counted: dict[Counter, int] = {}

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

    @property
    def totals(self) -> Totals:
        """What became of the records of all roads."""
        return sum((road.totals for road in self._roads), Totals())

    @property
    def in_flight(self) -> int:
        """How much was sent and is not acknowledged yet."""
        return sum(road.sink.in_flight for road in self._roads)

    def status(self) -> StatusReport:
        """Return what `/status` shows of this worker, and tell the supervisor when its state has changed."""
        if not self._draining:
            self._judge()
        tries = [road.sink.tries for road in self._roads]
        # A worker that ends does not wait for the broker's answer.
        ask = not (self._unreachable or self._draining)
        held = [status for view in self._views for status in view.look(ask=ask)]
        now_s = time.monotonic()
        return msgspec.structs.replace(
            self._identity,
            **asdict(self.totals),
            in_flight=self.in_flight,
            sink_attempts=max(each.attempts for each in tries),
            sink_failing_s=round(max(self._late_s, *(each.failing_s() for each in tries)), 3),
            sink_reason=self._unreachable or next((each.reason for each in tries if each.reason), ""),
            lag=self._worst.see(held, now_s),
            busy_s=self._busy.look(now_s),
            at_s=now_s,
            partitions=held,
        )

    def metrics(self) -> str:
        """Return the worker's metrics in Prometheus' text format."""
        metrics = self._metrics
        for road in self._roads:
            lane = road.batcher.lane
            metrics.queue_records.labels(lane).set(road.batcher.n_records)
            metrics.queue_bytes.labels(lane).set(road.batcher.n_bytes)
            metrics.in_flight.labels(lane).set(road.sink.in_flight)
            metrics.ceiling.set(road.scorer.ceiling)
        self._count(metrics.sink_retries, sum(road.sink.tries.total for road in self._roads))
        self._count(metrics.commits_refused, sum(road.source.commits.n_refused for road in self._roads))
        return metrics.exposition()

    def _count(self, counter: Counter, total: int) -> None:
        counter.inc(total - self._counted.get(counter, 0))
        self._counted[counter] = total

    def _judge(self) -> None:
        waiting_s = max(road.sink.waiting_s() for road in self._roads)
        stuck = waiting_s > self._sink_failing_s
        self._late_s = waiting_s if stuck else 0.0  # without a broker nobody refuses anything: it only waits
        waiting = f"a delivery has been waiting for {self._sink_failing_s:g} s and more"
        if stuck and self._reporter.current is WorkerState.READY:
            self._tell(WorkerState.BLOCKED, waiting)  # at once; to ask the broker why may take its time
            return
        if stuck or self._unreachable or self._reach_due.expired:
            self._reach_due = Deadline.after(REACH_EVERY_S)
            self._unreachable = self._reach()
        problems = self._problems()
        if not self._all_joined or self._without_topics:
            self._tell(WorkerState.JOINING, self._unreachable or problems)
        elif self._unreachable or stuck:
            self._tell(WorkerState.BLOCKED, self._unreachable or waiting)
        elif unreadable := self._unreadable() or self._rights.lacking():
            self._tell(WorkerState.BLOCKED, unreadable)
        else:
            moving = any(road.source.rebalancing for road in self._roads)
            self._tell(WorkerState.REBALANCING if moving else WorkerState.READY, problems)

    @property
    def _all_joined(self) -> bool:
        return all(road.source.joined for road in self._roads)

    @property
    def _without_topics(self) -> bool:
        """Whether a road has nothing to read from, for want of its topics."""
        return any(road.source.problems and not road.source.assignment.partitions for road in self._roads)

    def _tell(self, state: WorkerState, reason: str) -> None:
        if not self._draining:
            self._reporter.state(state, reason)

    def _problems(self) -> str:
        found = {topic: why for road in self._roads for topic, why in road.source.problems.items()}
        return "; ".join(f"{topic}: {why}" for topic, why in sorted(found.items()))

    def _unreadable(self) -> str:
        found = {at: why for road in self._roads for at, why in road.source.unreadable.items()}
        return "; ".join(f"{topic}/{number}: {why}" for (topic, number), why in sorted(found.items()))

    def _reach(self) -> str:
        for road in self._roads:
            try:
                road.sink.reach(ANSWER_S)
            except KafkaFailure as error:
                return f"{LEAVES[road.batcher.lane]} cannot leave: {error}"
        return ""
