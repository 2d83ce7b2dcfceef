"""What a worker tells its supervisor: one JSON object a line, over an inherited pipe."""

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable

import msgspec
import structlog

from pelton.deadline import Deadline
from pelton.partition_status import LagStatus, PartitionStatus
from pelton.states import WorkerState, check_move

log = structlog.get_logger(__name__)

_PR_SET_PDEATHSIG = 1
EXIT_SETTINGS = 2
"""Exit code of a process whose settings or model package cannot be used."""
EXIT_FATAL = 3
"""Exit code of a worker that failed, or whose supervisor is gone."""
EXIT_FENCED = 4
"""Exit code of a process whose place in the group, or whose transactional id, another one took."""


class StateReport(msgspec.Struct, tag_field="kind", tag="state", frozen=True):
    """The worker's state changed, or the reason for it."""

    state: WorkerState
    reason: str = ""


class StatusReport(msgspec.Struct, tag_field="kind", tag="status", frozen=True):
    """What `/status` shows of a worker; the counts are totals since its process began, `gpu` is a UUID.

    `sink_attempts` are the tries to write that failed in a row, over `sink_failing_s` seconds; 0 while scores leave.
    `busy_s` is the time at work until `at_s` of the monotonic clock.
    """

    model: str = ""
    version: str = ""
    device: str = ""
    gpu: str = ""
    startup_s: float = 0.0
    records: int = 0
    scored: int = 0
    dead_letters: int = 0
    answered: int = 0
    in_flight: int = 0
    busy_s: float = 0.0
    at_s: float = 0.0
    sink_attempts: int = 0
    sink_failing_s: float = 0.0
    sink_reason: str = ""
    lag: LagStatus = LagStatus()
    partitions: list[PartitionStatus] = []


class MetricsReport(msgspec.Struct, tag_field="kind", tag="metrics", frozen=True):
    """The worker's metrics in Prometheus' text format."""

    text: str


Report = StateReport | StatusReport | MetricsReport

_encode = msgspec.json.Encoder().encode
decode_report = msgspec.json.Decoder(Report).decode
"""Turn one line of the pipe into a report; raises msgspec.DecodeError on anything else."""


class _Round:
    """What is sent again and again, and when it is due."""

    def __init__(self, interval_s: float, status: Callable[[], StatusReport], metrics: Callable[[], str]) -> None:
        self._interval_s, self._status, self._metrics = interval_s, status, metrics
        self._due = Deadline.after(0.0)

    def left_s(self) -> float:
        return self._due.remaining_s()

    def take(self) -> tuple[StatusReport, MetricsReport] | tuple[()]:
        if not self._due.expired:
            return ()
        self._due = Deadline.after(self._interval_s)
        try:
            return self._status(), MetricsReport(self._metrics())
        except Exception:
            log.exception("report_failed")
            return ()


class Reporter:
    """The worker's end of the pipe.

    A thread of its own does all writing, so that a supervisor which does not read can never hold
    up the caller. `on_lost` is called in that thread once the supervisor's end is closed.
    """

    def __init__(self, fd: int, on_lost: Callable[[], None] | None = None) -> None:
        self._fd, self._on_lost = fd, on_lost or _end_orphaned
        self._current = StateReport(WorkerState.STARTING)
        self._waiting: deque[Report] = deque()
        self._wake, self._closed = threading.Condition(), False
        self._round: _Round | None = None
        self._thread = threading.Thread(target=self._run, name="pelton-reports", daemon=True)
        self._thread.start()

    @property
    def current(self) -> WorkerState:
        """Return the state last told."""
        return self._current.state

    def state(self, state: WorkerState, reason: str = "") -> None:
        """Tell a new state or a new reason; the same again is not sent. Raises IllegalMoveError."""
        with self._wake:
            report = StateReport(state, reason)
            if report == self._current:
                return
            check_move(self._current.state, state)
            self._current = report
            self._waiting.append(report)
            self._wake.notify()
        if threading.current_thread() is self._thread:
            self._send_states()  # told while status is gathered, which may take its time

    def report_every(self, interval_s: float, status: Callable[[], StatusReport], metrics: Callable[[], str]) -> None:
        """Send status and metrics now and every `interval_s` seconds; both run in the thread."""
        with self._wake:
            self._round = _Round(interval_s, status, metrics)
            self._wake.notify()

    def close(self, timeout_s: float = 1.0) -> None:
        """Send the states that wait, for at most `timeout_s`, and end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            while True:
                self._wait()
                last_time = self._closed
                self._send_states()
                if last_time:
                    return
                for report in self._round.take() if self._round else ():
                    self._send(report)
        except OSError:
            self._on_lost()
        finally:
            with contextlib.suppress(OSError):
                os.close(self._fd)

    def _wait(self) -> None:
        with self._wake:
            while not (self._waiting or self._closed):
                left_s = self._round.left_s() if self._round else None
                if left_s == 0.0:
                    return
                self._wake.wait(left_s)

    def _send_states(self) -> None:
        while self._waiting:
            self._send(self._waiting.popleft())

    def _send(self, report: Report) -> None:
        left = memoryview(_encode(report) + b"\n")
        while left:
            left = left[os.write(self._fd, left) :]


def end_with_parent(report_fd: int) -> None:
    """Make sure that this process dies with its supervisor, even if that is killed by SIGKILL.

    Call it first thing in the worker. The kernel kills us when the supervisor dies; the pipe tells
    whether it died before we asked. Where the kernel cannot do it, the Reporter notices.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    poll = select.poll()
    poll.register(report_fd, select.POLLOUT)
    if any(event & select.POLLERR for _, event in poll.poll(0)):
        _end_orphaned()


def _end_orphaned() -> None:
    """End at once: whatever is unfinished is uncommitted, so the next owner does it again."""
    os._exit(EXIT_FATAL)
