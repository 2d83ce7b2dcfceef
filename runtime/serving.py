"""A worker's serving part, once torch may be imported: the warm model, and the loop around it."""

import gc
import threading
import time

import structlog
import torch
from confluent_kafka import KafkaException

from pelton.assembly import assemble
from pelton.committer import Committer
from pelton.consumers.lag import Lag
from pelton.deadline import Deadline
from pelton.desk import Desk
from pelton.errors import BrokerUnavailable, ProducerLost, SettingsError
from pelton.handover import Handover
from pelton.kafka_clients import client_properties
from pelton.kafka_errors import failure
from pelton.loop import Loop
from pelton.metrics import Metrics
from pelton.models.device import resolve_device
from pelton.models.package import load_package
from pelton.models.scorer import Scorer
from pelton.producers.exact_sink import ExactSink
from pelton.progress import Progress
from pelton.relay import Relay
from pelton.replica import Seat
from pelton.reports import Reporter, StatusReport
from pelton.request_assembly import assemble_desk
from pelton.schemas.settings import Settings
from pelton.states import WorkerState
from pelton.topics import limits
from pelton.watch import Watch

log = structlog.get_logger(__name__)

REPORT_EVERY_S = 1.0
START_S = 2.0


class Hurried(BaseException):
    """The process was told again to end: raised in the main thread while it drains."""


class Serving:
    """The model of one worker, loaded once and warmed, and the loop that feeds it."""

    def __init__(self, settings: Settings, reporter: Reporter, progress: Progress, index: int) -> None:
        self._settings, self._reporter, self._progress, self._index = settings, reporter, progress, index
        self._metrics = Metrics()
        exactly_once = settings.delivery == "exactly-once"
        self._draining = False
        self._seat = Seat(settings.stream.group, settings.replica) if exactly_once else None

    def warm_up(self, started_s: float) -> None:
        """Load the model, warm it and check its golden cases; raises PackageError or SettingsError."""
        settings = self._settings
        torch.set_num_threads(settings.threads)
        self._package = load_package(settings.model)
        device = str(resolve_device(settings.device, self._index))
        self._model = self._package.load(device)
        self._reporter.state(WorkerState.WARMING)
        batch = settings.batch
        self._scorer = Scorer(self._model, self._package, batch.max_size, batch.fixed_shape, self._metrics)
        self._scorer.start()
        startup_s = time.monotonic() - started_s
        self._identity = StatusReport(
            model=self._package.name,
            version=self._package.version_address,
            device=device,
            startup_s=round(startup_s, 3),
        )
        self._metrics.startup.set(startup_s)
        self._metrics.model.info(
            {"name": self._package.name, "version": self._package.version_address, "device": device}
        )
        _spare_the_collector()
        log.info("model_warm", model=self._package.name, version=self._package.version_address, device=device)

    def serve(self, sink_partitions: int, stopping: threading.Event) -> int:
        """Join the group and score until told to stop, then drain; return the exit code."""
        settings = self._settings
        loop = self._assemble(sink_partitions)
        if isinstance(loop.sink, ExactSink) and not self._begin_transactions(loop.sink, stopping):
            return 0
        desk = self._assemble_desk()
        watch = self._watch(loop, desk)
        self._reporter.report_every(REPORT_EVERY_S, watch.status, watch.metrics)
        loop.source.join(Handover(loop, watch.joined, watch.moving))
        if desk is not None:
            desk.source.join(Handover(desk, watch.joined, watch.moving))
        relay = Relay(loop, desk, settings.requests.stream_share if settings.requests else 1.0)
        try:
            relay.run(stopping)
        except BaseException:
            relay.leave()
            raise
        watch.drain()
        log.info("draining", waiting=loop.batcher.n_records, in_flight=loop.sink.in_flight)
        in_time = self._drain(relay, Deadline.after(0.9 * settings.drain_s))
        log.info("drained", in_time=in_time, scored=loop.totals.scored, dead_letters=loop.totals.dead_letters)
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

    def _watch(self, loop: Loop, desk: Desk | None) -> Watch:
        settings, properties = self._settings, client_properties(self._settings)
        lag = Lag(properties, settings.stream.group, settings.stream.reset)
        desk_lag = Lag(properties, settings.requests.group, "earliest") if settings.requests else None
        return Watch(
            loop,
            self._reporter,
            lag,
            identity=self._identity,
            sink_failing_s=settings.health.sink_failing_s,
            desk=(desk, desk_lag) if desk and desk_lag else None,
        )

    def _begin_transactions(self, sink: ExactSink, stopping: threading.Event) -> bool:
        """End what this worker's predecessor left open, and begin to commit; return False when told to stop before.

        Raises SettingsError when the broker takes no producer with these settings, and what `ExactSink.start` raises.
        """
        while not stopping.is_set():
            try:
                sink.start(Deadline.after(START_S))
            except BrokerUnavailable as error:
                self._reporter.state(WorkerState.JOINING, str(error))
                log.warning("not_joined_yet", reason=str(error))
            except ProducerLost as error:
                if error.of_the_settings:
                    raise SettingsError(f"kafka: {error}") from error
                raise
            else:
                Committer(sink, self._metrics).start()
                return True
        return False

    def _assemble(self, sink_partitions: int) -> Loop:
        stream = self._settings.stream
        try:
            return assemble(
                self._settings,
                self._package,
                self._model,
                self._scorer,
                index=self._index,
                sink_partitions=sink_partitions,
                limits=limits(dict(self._settings.kafka), [stream.sink, stream.dead_letter]),
                transactional_id=self._seat.transactional_id if self._seat else None,
                metrics=self._metrics,
                progress=self._progress,
            )
        except KafkaException as error:
            raise SettingsError(f"kafka: {failure(error)}") from error

    def _assemble_desk(self) -> Desk | None:
        requests = self._settings.requests
        if requests is None:
            return None
        return assemble_desk(
            self._settings,
            requests,
            self._package,
            self._model,
            self._scorer,
            metrics=self._metrics,
            progress=self._progress,
        )


def _spare_the_collector() -> None:
    """Take what is loaded out of the garbage collector's sight, and let it run seldom.

    Events are made and dropped by the thousand, which starts a collection each time, and each would walk through all
    of torch: 40 % of the poll thread's time when measured.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
