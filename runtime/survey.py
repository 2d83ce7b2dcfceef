"""What the supervisor sees of its workers from outside, whatever they do: progress, process, GPU."""

import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version

import confluent_kafka
import psutil

from pelton.gpus import Gpus
from pelton.health import Verdict, WorkerView
from pelton.keeper import Keeper
from pelton.metrics import SupervisorMetrics
from pelton.scale_control import ScaleAnswer


class Survey:
    """Sets the metrics that no worker tells of itself, anew at each scrape; a worker without a process has none."""

    def __init__(self, metrics: SupervisorMetrics, gpus: Gpus) -> None:
        self._metrics, self._gpus = metrics, gpus
        self._processes: dict[int, psutil.Process] = {}
        librdkafka, python = confluent_kafka.libversion()[0], platform.python_version()
        metrics.build.info({"version": version("pelton"), "python": python, "librdkafka": librdkafka})

    def take(
        self, keepers: Sequence[Keeper], verdicts: Mapping[str, Verdict], scale: ScaleAnswer | None = None
    ) -> None:
        """Look at every worker; reads `/proc`, and asks nobody who could keep it waiting."""
        for name, verdict in verdicts.items():
            self._metrics.healthy.labels(name).set(verdict.ok)
        self._forget()
        if scale is not None:
            self._metrics.replicas.labels("wanted").set(scale.wanted_replicas)
            self._metrics.replicas.labels("present").set(scale.replicas)
        self._gpus.watch(keeper.status.gpu for keeper in keepers)
        living = {keeper.pid: keeper for keeper in keepers if keeper.pid is not None}
        self._processes = {pid: each for pid, each in self._processes.items() if pid in living}
        for pid, keeper in living.items():
            view = keeper.view()
            self._show_progress(view)
            with suppress(psutil.Error):  # it may die at any moment
                self._show_process(str(view.index), pid)
            self._show_gpu(str(view.index), keeper.status.gpu)

    def _forget(self) -> None:
        m = self._metrics
        for metric in (m.poll_age, m.batch_age, m.oldest_unfinished, m.cpu, m.resident, m.threads, m.open_files):
            metric.clear()
        for metric in (m.gpu_used, m.gpu_total, m.gpu_busy, m.replicas):
            metric.clear()

    def _show_progress(self, view: WorkerView) -> None:
        now_s = time.monotonic()
        for gauge, stamp_s in (
            (self._metrics.poll_age, view.poll_beat_s),
            (self._metrics.batch_age, view.batch_started_s),
            (self._metrics.oldest_unfinished, view.oldest_unfinished_s),
        ):
            gauge.labels(str(view.index)).set(max(0.0, now_s - stamp_s) if stamp_s else 0.0)

    def _show_process(self, worker: str, pid: int) -> None:
        if pid not in self._processes:
            self._processes[pid] = psutil.Process(pid)
        process = self._processes[pid]
        with process.oneshot():
            cpu, memory, threads = process.cpu_times(), process.memory_info(), process.num_threads()
            self._metrics.open_files.labels(worker).set(process.num_fds())
        self._metrics.cpu.labels(worker).inc(cpu.user + cpu.system)
        self._metrics.resident.labels(worker).set(memory.rss)
        self._metrics.threads.labels(worker).set(threads)

    def _show_gpu(self, worker: str, uuid: str) -> None:
        if (use := self._gpus.use(uuid)) is None:
            return
        self._metrics.gpu_used.labels(worker, uuid).set(use.used_bytes)
        self._metrics.gpu_total.labels(worker, uuid).set(use.total_bytes)
        if use.busy is not None:
            self._metrics.gpu_busy.labels(worker, uuid).set(use.busy)
