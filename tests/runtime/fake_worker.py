"""A worker without a model or Kafka: a program the tests of the supervisor start, which does what it is told."""

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# The tests start it some twenty times, and it never logs: the log library would be two thirds of each start.
stand_in: Any = SimpleNamespace(get_logger=lambda name: None)
sys.modules["structlog"] = stand_in

from pelton.partition_status import PartitionStatus  # noqa: E402
from pelton.progress import Progress  # noqa: E402
from pelton.reports import Reporter, StatusReport, end_with_parent  # noqa: E402
from pelton.states import WorkerState  # noqa: E402

FOREVER_S = 60.0
EXPOSITION = """\
# HELP pelton_scored_total Records scored.
# TYPE pelton_scored_total counter
pelton_scored_total 7.0
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("conduct")
    for name in ("settings-fd", "report-fd", "progress-fd", "index"):
        parser.add_argument(f"--{name}", type=int, required=True)
    told = parser.parse_args()
    end_with_parent(told.report_fd)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    return Worker(Reporter(told.report_fd), Progress.attach(told.progress_fd), stopping).conduct(
        *told.conduct.split("=")
    )


class Worker:
    def __init__(self, reporter: Reporter, progress: Progress, stopping: threading.Event) -> None:
        self.reporter, self.progress, self.stopping = reporter, progress, stopping
        self.gpu = ""

    def conduct(self, name: str, argument: str = "") -> int:
        code: int = getattr(self, name)(*filter(None, [argument]))
        self.reporter.close()
        return code

    def serve(self) -> int:
        """Get ready, and drain when told to."""
        self.get_ready()
        self.stopping.wait(FOREVER_S)
        self.reporter.state(WorkerState.DRAINING)
        self.reporter.state(WorkerState.STOPPED)
        return 0

    def compute(self, gpu: str) -> int:
        """Get ready on a GPU, and drain when told to."""
        self.gpu = gpu
        return self.serve()

    def refuse(self) -> int:
        self.reporter.state(WorkerState.STOPPED, "model: there is no package 'nowhere'")
        return 2

    def fenced_once(self, marker: str) -> int:
        """Lose the identity to another process, which a second start would get back."""
        if Path(marker).exists():
            return self.serve()
        Path(marker).touch()
        self.get_ready()
        self.reporter.state(WorkerState.STOPPED, "another process took over")
        return 4

    def deaf(self) -> int:
        """Get ready, and never end by itself."""
        self.get_ready()
        threading.Event().wait(FOREVER_S)
        return 0

    def hang(self) -> int:
        """Get ready, and stand in a batch that began long ago."""
        self.progress.batch_started_s = time.monotonic() - FOREVER_S
        return self.deaf()

    def hang_once(self, marker: str) -> int:
        if Path(marker).exists():
            self.progress.batch_finished_s = time.monotonic()
            return self.serve()
        Path(marker).touch()
        return self.hang()

    def spin(self) -> int:
        """Get ready, and hold the interpreter's lock as a model in pure Python would."""
        self.get_ready()
        self.reporter.close()
        until_s = time.monotonic() + FOREVER_S
        while time.monotonic() < until_s and not self.stopping.is_set():
            sum(range(100_000))
        return 0

    def get_ready(self) -> None:
        for state in (WorkerState.LOADING, WorkerState.WARMING, WorkerState.JOINING, WorkerState.READY):
            self.reporter.state(state)
        held = [PartitionStatus("flights", 0, position=10, committed=8, lag=2)]
        status = StatusReport("flight-delay", "1@abc", "cpu", gpu=self.gpu, records=10, scored=7, partitions=held)
        self.reporter.report_every(1.0, lambda: status, lambda: EXPOSITION)


if __name__ == "__main__":
    os._exit(main())
