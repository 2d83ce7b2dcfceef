"""The process that owns the sidecar and keeps the workers running; it never loads torch."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import structlog

from pelton import health
from pelton.admin_routes import AdminRoutes
from pelton.care import Care
from pelton.errors import Fenced, SettingsError
from pelton.gpus import Gpus
from pelton.health import Verdict, WorkerView
from pelton.keeper import Keeper
from pelton.merged_metrics import merge
from pelton.metrics import SupervisorMetrics
from pelton.reports import EXIT_FENCED, EXIT_SETTINGS
from pelton.scale_control import ScaleAnswer
from pelton.scale_watch import ScaleWatch
from pelton.schemas.settings import Settings
from pelton.sidecar import Sidecar
from pelton.states import SupervisorState
from pelton.status import describe_worker
from pelton.survey import Survey
from pelton.worker_count import worker_count

log = structlog.get_logger(__name__)

WORKER = (sys.executable, "-m", "pelton.worker")
"""The command of a worker; descriptors and index are appended."""
_HURRY_S = 2.0
_KILLED_S = 5.0


class Supervisor:
    """Keeps `settings.workers` workers running behind one sidecar.

    SIGTERM or SIGINT drains: not ready at once, the workers finish and commit what they hold, and
    whoever is not done after `drain_s` is killed. After a second signal they give up what is not
    finished, uncommitted, and leave; two seconds later they are killed.
    """

    def __init__(self, settings: Settings, command: Sequence[str] = WORKER) -> None:
        self.state = SupervisorState.RUNNING
        self._settings = settings
        self._metrics = SupervisorMetrics()
        self._stop, self._hurry = asyncio.Event(), asyncio.Event()
        told = settings.to_json().encode()
        care = Care(settings.health.stall_s, grace_s=min(5.0, settings.drain_s), **settings.restart.model_dump())
        self._keepers = [Keeper(index, command, told, care, self._metrics) for index in range(worker_count(settings))]
        self._survey = Survey(self._metrics, Gpus())
        self._verdicts = {"startup": self._startup, "live": self._live, "ready": self._ready}
        self._scaling = ScaleWatch(settings, settings.scale, self._keepers) if settings.scale else None
        scale = self._scale if self._scaling else None
        self.sidecar = Sidecar(self._verdicts, self._exposition, self.describe, scale)
        self.admin = AdminRoutes(settings.admin, self.drain) if settings.admin.port is not None else None

    def run(self) -> int:
        """Serve until told to stop, and return the exit code of the process.

        0: every worker ended cleanly; 1: one had to be killed or failed while draining; 2: the
        settings, the model package or an address to listen on cannot be used; 4: another process took
        a worker's identity. Call it in the main thread: the workers die with the thread that starts
        them.
        """
        try:
            return asyncio.run(self.serve())
        except SettingsError as error:
            log.critical("cannot_serve", reason=str(error))
            return EXIT_SETTINGS
        except Fenced as error:
            log.critical("fenced", reason=str(error))
            return EXIT_FENCED

    async def serve(self) -> int:
        """Do the work of `run` in a running event loop; raises SettingsError or Fenced."""
        with self._signals():
            await self.sidecar.start(self._settings.sidecar.host, self._settings.sidecar.port)
            log.info("sidecar_listens", host=self._settings.sidecar.host, port=self.sidecar.port)
            if self.admin is not None:
                await self.admin.start()
            scaling = asyncio.create_task(self._scaling.run()) if self._scaling else None
            try:
                return await self._keep_workers()
            finally:
                if scaling is not None:
                    scaling.cancel()
                    await asyncio.wait({scaling})
                self.state = SupervisorState.STOPPED
                await self.sidecar.close()
                if self.admin is not None:
                    await self.admin.close()

    def stop(self) -> None:
        """Begin to drain, as a signal does; a second call shortens it."""
        self.state = SupervisorState.DRAINING
        (self._hurry if self._stop.is_set() else self._stop).set()

    def drain(self) -> str:
        """Begin to drain, if that is not done yet, and return the state; unlike a signal, a repeat hurries nobody."""
        if self.state is SupervisorState.RUNNING:
            self.stop()
        return self.state.value

    def describe(self) -> dict[str, Any]:
        """Return what `/status` shows."""
        return {
            "state": self.state.value,
            "pid": os.getpid(),
            "health": {name: verdict().describe() for name, verdict in self._verdicts.items()},
            "workers": [describe_worker(keeper) for keeper in self._keepers],
        }

    async def _keep_workers(self) -> int:
        keeping = [asyncio.create_task(keeper.keep()) for keeper in self._keepers]
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait([*keeping, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await self._drain(keeping)
        for task in keeping:
            if task.done():
                task.result()
        return 0 if all(task.done() for task in keeping) and all(k.clean for k in self._keepers) else 1

    async def _drain(self, keeping: Sequence[asyncio.Task[None]]) -> None:
        self.state = SupervisorState.DRAINING
        log.info("draining", workers=len(keeping), grace_s=self._settings.drain_s)
        ended = asyncio.create_task(asyncio.wait(keeping))
        hurry = asyncio.create_task(self._hurry.wait())
        self._stop_workers()
        await asyncio.wait({ended, hurry}, timeout=self._settings.drain_s, return_when=asyncio.FIRST_COMPLETED)
        if hurry.done() and not ended.done():
            self._stop_workers()
            await asyncio.wait({ended}, timeout=_HURRY_S)
        for keeper in self._keepers:
            keeper.kill()
        await asyncio.wait({ended}, timeout=_KILLED_S)
        hurry.cancel()

    def _stop_workers(self) -> None:
        for keeper in self._keepers:
            keeper.stop()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._on_signal, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _on_signal(self, number: signal.Signals) -> None:
        log.info("signal", signal=number.name, again=self._stop.is_set())
        self.stop()

    def _views(self) -> list[WorkerView]:
        return [keeper.view() for keeper in self._keepers]

    def _startup(self) -> Verdict:
        return health.startup(self._views())

    def _live(self) -> Verdict:
        return health.live(self._views())

    def _ready(self) -> Verdict:
        return health.ready(self.state, self._views(), time.monotonic(), self._settings.restart.max_s)

    def _texts(self) -> dict[str, str]:
        return {str(keeper.view().index): keeper.exposition for keeper in self._keepers}

    def _answer(self) -> ScaleAnswer | None:
        return self._scaling.answer() if self._scaling else None

    def _scale(self) -> dict[str, Any] | None:
        answer = self._answer()
        return None if answer is None else msgspec.to_builtins(answer)

    def _exposition(self) -> str:
        self._survey.take(self._keepers, {name: verdict() for name, verdict in self._verdicts.items()}, self._answer())
        return self._metrics.exposition() + merge(self._texts())
