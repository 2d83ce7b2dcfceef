"""Keeps the answer to `/scale` fresh, in the background: whoever asks never waits for the broker."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

import msgspec
import structlog

from pelton.keeper import Keeper
from pelton.scale_asker import Told, decode_told
from pelton.scale_control import ScaleAnswer, ScaleControl
from pelton.schemas.settings import Settings
from pelton.schemas.settings_scale import Scale

log = structlog.get_logger(__name__)

ASKER = (sys.executable, "-m", "pelton.scale_asker")
AGAIN_S = 5.0
_LINE_BYTES = 8 * 2**20


class ScaleWatch:
    """Runs the asker, feeds what it tells into the control, and remembers the last answer."""

    def __init__(
        self, settings: Settings, scale: Scale, keepers: Sequence[Keeper], command: Sequence[str] = ASKER
    ) -> None:
        self._settings, self._scale, self._keepers, self._command = settings, scale, keepers, command
        self._control = ScaleControl(scale, len(keepers))
        self._began_s = time.monotonic()
        self._started_s: float | None = None
        self._answered: tuple[float, ScaleAnswer] | None = None
        self._failed = ""

    def answer(self) -> ScaleAnswer | None:
        """Return the last answer with its age, None before the broker has told anything."""
        if self._answered is None:
            return None
        at_s, answer = self._answered
        return msgspec.structs.replace(answer, age_s=round(time.monotonic() - at_s, 1))

    @property
    def reason(self) -> str:
        """Why the broker has told nothing of late, empty while it does."""
        return self._failed

    async def run(self) -> None:
        """Ask until cancelled; an asker that dies is started again in a while."""
        while True:
            try:
                await self._listen()
                self._note("the process that asks has ended")
            except (OSError, msgspec.DecodeError) as error:
                self._note(f"the process that asks could not be started or understood: {error}")
            await asyncio.sleep(AGAIN_S)

    async def _listen(self) -> None:
        # Who is cancelled while a process is being made would leave half of it behind: that is waited for.
        making = asyncio.ensure_future(self._make())
        try:
            process = await asyncio.shield(making)
            assert process.stdout is not None
            await self._tell(process)
            while line := await process.stdout.readline():
                self._hear(decode_told(line))
        finally:
            process = await making
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            ending = asyncio.ensure_future(process.communicate())  # to the end of its pipes: else they outlive us
            try:
                await asyncio.shield(ending)
            finally:
                await ending

    async def _make(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=_LINE_BYTES, process_group=0
        )

    async def _tell(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(self._settings.to_json().encode())
            await process.stdin.drain()
            process.stdin.close()

    def _hear(self, told: Told) -> None:
        if told.failed:
            self._note(told.failed)
            return
        self._note("")
        now_s = time.monotonic()
        for keeper in self._keepers:
            status = keeper.status
            if status.at_s:
                done = status.scored + status.dead_letters + status.answered
                self._control.capacity.see(keeper.view().index, status.at_s, done, status.busy_s)
        answer = self._control.see(now_s, [group.look() for group in told.groups], self._start_s(now_s))
        before = self._answered[1].wanted_replicas if self._answered else None
        if answer.wanted_replicas != before:
            log.info("replicas_wanted", wanted=answer.wanted_replicas, before=before, reason=answer.reason)
        self._answered = now_s, answer

    def _start_s(self, now_s: float) -> float:
        """Return how long a replica takes to start: as set, else as this one took, or has taken so far."""
        if self._scale.start_s is not None:
            return self._scale.start_s
        if self._started_s is None:
            ready_s = [view.ready_since_s for view in (keeper.view() for keeper in self._keepers) if view.ready_since_s]
            if not ready_s:
                return now_s - self._began_s
            self._started_s = min(ready_s) - self._began_s
        return self._started_s

    def _note(self, reason: str) -> None:
        if reason != self._failed:
            self._failed = reason
            if reason:
                log.warning("scale_unknown", reason=reason)
