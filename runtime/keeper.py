"""Keeps one worker alive: starts it, watches its progress, replaces it, backs off."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence
from dataclasses import replace

import structlog

from pelton.care import Care
from pelton.errors import Fenced, PeltonError, SettingsError
from pelton.health import WorkerView, hang
from pelton.metrics import SupervisorMetrics
from pelton.rates import Rates
from pelton.reports import EXIT_FENCED, EXIT_SETTINGS, MetricsReport, Report, StateReport, StatusReport
from pelton.states import WARM, WorkerState, may_follow
from pelton.worker_process import WorkerProcess

log = structlog.get_logger(__name__)


class Keeper:
    """Keeps one worker running until it is told to stop, and knows how the worker is."""

    def __init__(
        self, index: int, command: Sequence[str], settings: bytes, care: Care, metrics: SupervisorMetrics
    ) -> None:
        self.exposition = ""
        """The metrics last reported, in text format; empty while no process runs."""
        self.status = StatusReport()
        """What was last reported for `/status`; the default while no process runs."""
        self.rates = Rates()
        self.clean = True
        """Whether, told to stop, it ended by itself and without a failure."""
        self._command, self._settings, self._care, self._metrics = command, settings, care, metrics
        self._stopping = asyncio.Event()
        self._starts, self._replaced_for = 0, ""
        self._process: WorkerProcess | None = None
        self._view = WorkerView(index, WorkerState.RESTARTING, since_s=time.monotonic())

    @property
    def pid(self) -> int | None:
        """Return the process id, None while no process runs."""
        return self._process.pid if self._process else None

    @property
    def restarts(self) -> int:
        """Return how often the worker was started again."""
        return max(0, self._starts - 1)

    def view(self) -> WorkerView:
        """Return how the worker is, with its progress as of now."""
        if self._process is None:
            return self._view
        progress = self._process.progress
        return replace(
            self._view,
            poll_beat_s=progress.slowest_beat_s,
            batch_started_s=progress.batch_started_s,
            batch_finished_s=progress.batch_finished_s,
            oldest_unfinished_s=progress.oldest_s,
            in_flight=self.status.in_flight,
            lag_reason=self.status.lag.unready,
        )

    def stop(self) -> None:
        """Ask the worker to finish what it holds and end; asking again tells it to hurry."""
        self._stopping.set()
        if self._process:
            self._process.signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        if self._process:
            self._process.signal(signal.SIGKILL)

    async def keep(self) -> None:
        """Start the worker, and start it again whenever it dies, until `stop` is called.

        Raises SettingsError when the first process refuses its settings, as another would, and Fenced when another
        process took the worker's identity: to take it back would begin a duel.
        """
        while not self._stopping.is_set():
            code = await self._run_once()
            why = self._cause(code)
            if self._stopping.is_set():
                self.clean = code in (0, -signal.SIGTERM)
                return self._enter(WorkerState.STOPPED, "" if self.clean else why)
            if kind := self._final(code):
                raise kind(self._view.reason or why)
            await self._back_off(why)
        return self._enter(WorkerState.STOPPED)

    async def _run_once(self) -> int | str:
        """Run one process to its end; return its exit code, or why it could not be started."""
        self._enter(WorkerState.STARTING)
        self._view = replace(self._view, ready_since_s=0.0, unkillable=False)
        self._replaced_for = ""
        self._starts += 1
        self._metrics.restarts.labels(str(self._view.index)).inc(self._starts > 1)
        try:
            process = await WorkerProcess.start(self._command, self._view.index, self._settings, self._hear)
        except OSError as error:
            return f"the process could not be started: {error}"
        self._process = process
        if self._stopping.is_set():
            process.signal(signal.SIGTERM)
        watching = asyncio.create_task(self._watch(process))
        try:
            return await process.ended()
        finally:
            watching.cancel()
            self._process = None
            self.exposition, self.status = "", StatusReport()
            self.rates.clear()

    def _hear(self, report: Report) -> None:
        match report:
            case StateReport(state, reason):
                # Why a process ends is told once, with what follows from it: a restart, or the end of all.
                self._enter(state, reason, quiet=state is WorkerState.STOPPED and bool(reason))
            case MetricsReport(text):
                self.exposition = text
            case StatusReport():
                self.status = report
                self.rates.add(report)

    async def _watch(self, process: WorkerProcess) -> None:
        step_s = self._care.stall_s / 10
        while not self._stopping.is_set():
            began_s = time.monotonic()
            await asyncio.sleep(step_s)
            now_s = time.monotonic()
            if now_s - began_s > 3 * step_s + 1:
                continue  # the whole pod was frozen: the worker could not have moved either
            view = self.view()
            if why := hang(view, now_s, self._care.stall_s):
                await self._replace(process, view, why)
            elif view.batch_finished_s or self._quiet(view, now_s):
                self._view = replace(self._view, hangs=0, last_hang="")

    def _quiet(self, view: WorkerView, now_s: float) -> bool:
        return bool(view.ready_since_s) and now_s - view.ready_since_s > self._care.stall_s and not view.batch_started_s

    async def _replace(self, process: WorkerProcess, view: WorkerView, why: str) -> None:
        hangs = 1 if view.batch_finished_s else view.hangs + 1
        self._view = replace(self._view, hangs=hangs, last_hang=why)
        self._replaced_for = why
        log.error("worker_hangs", worker=view.index, pid=process.pid, reason=why)
        dead = await process.end(self._care.grace_s)
        self._view = replace(self._view, unkillable=not dead)

    def _cause(self, code: int | str) -> str:
        """Say why the process ended, with the last reason it gave itself."""
        if isinstance(code, str):
            return code
        if self._replaced_for:
            return f"replaced: {self._replaced_for}"
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"{how}: {self._view.reason}" if self._view.reason else how

    def _final(self, code: int | str) -> type[PeltonError] | None:
        """Return what kind of error the worker ended with, if no other process would do better."""
        refused = code == EXIT_SETTINGS and self._starts == 1 and self._view.state is WorkerState.STOPPED
        return SettingsError if refused else Fenced if code == EXIT_FENCED else None

    async def _back_off(self, why: str) -> None:
        view = self._view
        stable = view.ready_since_s and time.monotonic() - view.ready_since_s >= self._care.max_s
        deaths = 1 if stable else view.deaths + 1
        wait_s = self._care.back_off_s(deaths)
        self._view = replace(view, deaths=deaths)
        self._enter(WorkerState.RESTARTING, why, deaths=deaths, wait_s=round(wait_s, 3))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), wait_s)

    def _enter(self, state: WorkerState, reason: str = "", *, quiet: bool = False, **fields: float) -> None:
        old = self._view
        if (state, reason) == (old.state, old.reason):
            return
        if not may_follow(old.state, state):
            log.error("worker_state_unexpected", worker=old.index, was=old.state.value, state=state.value)
        now_s = time.monotonic()
        ready = state is WorkerState.READY
        self._view = replace(
            old,
            state=state,
            reason=reason,
            since_s=old.since_s if state is old.state else now_s,
            was_warm=old.was_warm or state in WARM,
            was_ready=old.was_ready or ready,
            ready_since_s=old.ready_since_s or (now_s if ready else 0.0),
        )
        told = {"reason": reason, "pid": self.pid, **fields}
        tell = log.debug if quiet else log.info
        tell("worker_state", worker=old.index, state=state.value, **{k: v for k, v in told.items() if v})
        for name in WorkerState:
            self._metrics.worker_state.labels(str(old.index), name.value).set(name is state)
