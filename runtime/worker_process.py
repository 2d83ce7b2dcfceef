"""One worker process as its supervisor holds it: started, listened to, ended."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence

import msgspec
import structlog

from pelton.progress import Progress
from pelton.reports import Report, decode_report

log = structlog.get_logger(__name__)

_LINE_BYTES = 32 * 2**20
_LAST_WORDS_S = 2.0
_DEATH_S = 10.0


class WorkerProcess:
    """A running worker; make one with `start`, and await `ended` exactly once.

    It has a process group of its own: Ctrl-C in a terminal reaches the supervisor only, which
    passes it on, so that one key press is not taken for two signals.
    """

    def __init__(self, process: asyncio.subprocess.Process, progress: Progress, listening: asyncio.Task[None]) -> None:
        self.pid = process.pid
        self.progress = progress
        self._process = process
        self._listening = listening

    @classmethod
    async def start(
        cls, command: Sequence[str], index: int, settings: bytes, on_report: Callable[[Report], None]
    ) -> "WorkerProcess":
        """Start `command` with its descriptors and call `on_report` for all it reports.

        Settings travel in memory, so that no secret shows in the process list. Raises OSError.
        """
        progress = Progress.create()
        read_fd, write_fd = os.pipe()
        with _in_memory(settings) as settings_fd, _closing(write_fd):
            fds = {"--settings-fd": settings_fd, "--report-fd": write_fd, "--progress-fd": progress.fd}
            options = [str(part) for pair in (*fds.items(), ("--index", index)) for part in pair]
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    *options,
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=tuple(fds.values()),
                    process_group=0,
                )
            except BaseException:
                os.close(read_fd)
                progress.close()
                raise
        listening = asyncio.create_task(_listen(read_fd, on_report))
        return cls(process, progress, listening)

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def end(self, grace_s: float) -> bool:
        """Ask it to end, kill it after `grace_s`, and tell whether it is dead."""
        self.signal(signal.SIGTERM)
        if await self._dead_within(grace_s):
            return True
        self.signal(signal.SIGKILL)
        return await self._dead_within(_DEATH_S)

    async def ended(self) -> int:
        """Wait for the end, hear the last words, and return the exit code (-N: killed by N).

        Raises whatever `on_report` raised.
        """
        code = await self._process.wait()
        # A child of the worker may hold the pipe open: do not wait for its end for ever.
        await asyncio.wait({self._listening}, timeout=_LAST_WORDS_S)
        self.progress.close()
        if not self._listening.cancel():
            self._listening.result()
        return code

    async def _dead_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
            return True
        return False


async def _listen(fd: int, on_report: Callable[[Report], None]) -> None:
    lines = asyncio.StreamReader(limit=_LINE_BYTES)
    protocol = asyncio.StreamReaderProtocol(lines)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(fd, "rb"))
    try:
        while line := await lines.readline():
            try:
                on_report(decode_report(line))
            except msgspec.DecodeError as error:
                log.warning("report_unreadable", reason=str(error))
    finally:
        transport.close()


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    fd = os.memfd_create("pelton-settings")
    with _closing(fd):
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)
