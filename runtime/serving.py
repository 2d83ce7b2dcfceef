"""A worker's serving part, once torch may be imported: the warm model, and the roads around it."""

import gc
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial

import structlog

from pelton.committer import Committer
from pelton.deadline import Deadline
from pelton.engine import load_engine
from pelton.errors import AccessDenied, BrokerUnavailable, ProducerLost, SettingsError
from pelton.handover import Handover
from pelton.metrics import Metrics
from pelton.models.device import gpu_uuid
from pelton.producers.exact_sink import ExactSink
from pelton.progress import Progress
from pelton.relay import Relay
from pelton.replica import Seat
from pelton.reports import Reporter, StatusReport
from pelton.rights import check_rights
from pelton.roads import build_roads
from pelton.schemas.settings import Settings
from pelton.states import WorkerState
from pelton.tracing import start_tracing
from pelton.watch import Watch

log = structlog.get_logger(__name__)

REPORT_EVERY_S = 1.0
START_S = ASK_S = 2.0
SPANS_S = 5.0
LAST_SPANS_S = 1.0


class Hurried(BaseException):
    """The process was told again to end: raised in the main thread while it drains."""


class Serving:
    """The model of one worker, loaded once and warmed, and the roads that feed it."""

    def __init__(self, settings: Settings, reporter: Reporter, progress: Progress, index: int) -> None:
        self._settings, self._reporter, self._progress, self._index = settings, reporter, progress, index
        self._metrics, self._tracing = Metrics(), start_tracing(settings, index)
        exactly_once = settings.delivery == "exactly-once"
        self._draining = False
        self._seat = Seat(settings.stream.group, settings.replica) if settings.stream and exactly_once else None

    def warm_up(self, started_s: float) -> None:
        """Load the model, warm it and check its golden cases; raises PackageError or SettingsError."""
        engine = load_engine(self._settings, self._index, self._metrics, self._progress, self._tracing)
        self._reporter.state(WorkerState.WARMING)
        engine.scorer.start()
        self._engine, package, device = engine, engine.package, str(engine.device)
        startup_s = time.monotonic() - started_s
        self._identity = StatusReport(
            model=package.name,
            version=package.version_address,
            device=device,
            gpu=gpu_uuid(engine.device),
            startup_s=round(startup_s, 3),
        )
        self._metrics.startup.set(startup_s)
        self._metrics.model.info({"name": package.name, "version": package.version_address, "device": device})
        _spare_the_collector()
        log.info("model_warm", model=package.name, version=package.version_address, device=device)

    def serve(self, topics: Mapping[str, int], stopping: threading.Event) -> int:
        """Join the groups and score until told to stop, then drain; return the exit code.

        `topics` has the partitions of the sink. Raises SettingsError where no client can be made.
        """
        settings, seat = self._settings, self._seat
        roads = build_roads(settings, self._engine, self._index, topics, seat.transactional_id if seat else None)
        for road in roads:
            if isinstance(road.sink, ExactSink) and not self._begin_transactions(road.sink, stopping):
                return 0
        watch = Watch(
            roads,
            self._reporter,
            identity=self._identity,
            health=settings.health,
            ask_rights=partial(check_rights, settings, ASK_S),
        )
        self._reporter.report_every(REPORT_EVERY_S, watch.status, watch.metrics)
        for road in roads:
            road.source.join(Handover(road, watch.joined, watch.moving))
        share = settings.requests.stream_share if settings.requests else 0.0
        relay = Relay(*roads, stream_share=share, stall_s=settings.health.stall_s)
        try:
            relay.run(stopping)
        except BaseException:
            relay.leave()
            self._tracing.close(LAST_SPANS_S)
            raise
        watch.drain()
        log.info("draining", waiting=sum(road.batcher.n_records for road in roads), in_flight=watch.in_flight)
        spans_due = Deadline.after(0.95 * settings.drain_s)
        in_time = self._drain(relay, Deadline.after(0.9 * settings.drain_s))
        if in_time:
            self._tracing.close(min(SPANS_S, spans_due.remaining_s()))
        log.info("drained", in_time=in_time, **asdict(watch.totals))
        self._reporter.state(WorkerState.STOPPED)
        return 0

    def hurry(self) -> None:
        """Give up a drain under way; call it from a signal handler, in which it raises Hurried."""
        if self._draining:
            self._draining = False
            raise Hurried

    def _drain(self, relay: Relay, deadline: Deadline) -> bool:
        try:
            self._draining = True
            in_time = relay.drain(deadline)
            self._draining = False
        except Hurried:
            # What is open is aborted, so that no reader has to wait for its time-out, and the group need not either.
            relay.leave()
            return False
        return in_time

    def _begin_transactions(self, sink: ExactSink, stopping: threading.Event) -> bool:
        """End what this worker's predecessor left open, and begin to commit; return False when told to stop before.

        Raises SettingsError when the broker takes no producer with these settings, and what `ExactSink.start` raises.
        """
        told = ""
        while not stopping.is_set():
            try:
                sink.start(Deadline.after(START_S))
            except (BrokerUnavailable, AccessDenied) as error:
                denied = isinstance(error, AccessDenied)
                reason = f"{error} ({self._seat.transactional_id})" if denied and self._seat else str(error)
                if reason != told:
                    log.warning("not_joined_yet", reason=reason)
                told = reason
                self._reporter.state(WorkerState.JOINING, reason)
                stopping.wait(START_S if denied else 0.0)
            except ProducerLost as error:
                if error.of_the_settings:
                    raise SettingsError(f"kafka: {error}") from error
                raise
            else:
                Committer(sink, self._metrics).start()
                return True
        return False


def _spare_the_collector() -> None:
    """Take what is loaded out of the garbage collector's sight, and let it run seldom.

    Events are made and dropped by the thousand, which starts a collection each time, and each would walk through all
    of torch: 40 % of the poll thread's time when measured.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
