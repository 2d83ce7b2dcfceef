"""A program with several workers in one process, each in a thread; its arguments are files of settings.

It answers each line of its input with one line of JSON: `start` begins with new workers, `scored` tells what the
metrics of each say, `stop` ends them and tells their exit codes.
"""

import json
import os
import re
import sys
import threading
from pathlib import Path

from pelton.logs import configure_logs
from pelton.progress import Progress
from pelton.reports import MetricsReport, Reporter, decode_report
from pelton.schemas.settings import Settings
from pelton.worker import Worker

SCORED = re.compile(r"^pelton_scored_total (\S+)$", re.MULTILINE)


class Runtime:
    """One worker in a thread, and what it tells."""

    def __init__(self, settings: Settings) -> None:
        read_fd, write_fd = os.pipe()
        self._pipe, self._reporter = os.fdopen(read_fd, "rb"), Reporter(write_fd)
        self._worker = Worker(settings, self._reporter, Progress.create(), 0)
        self.metrics, self.code = "", -1
        self._threads = [threading.Thread(target=self._run), threading.Thread(target=self._listen)]
        for thread in self._threads:
            thread.start()

    def scored(self) -> float:
        return sum(float(value) for value in SCORED.findall(self.metrics))

    def stop(self) -> int:
        self._worker.stop()
        for thread in self._threads:
            thread.join()
        return self.code

    def _run(self) -> None:
        self.code = self._worker.run()
        self._reporter.close()

    def _listen(self) -> None:
        with self._pipe:
            for line in self._pipe:
                report = decode_report(line)
                if isinstance(report, MetricsReport):
                    self.metrics = report.text


def main(files: list[str]) -> None:
    configure_logs("info", "json")
    settings = [Settings.from_json(Path(file).read_text()) for file in files]
    runtimes: list[Runtime] = []
    for line in sys.stdin:
        match line.strip():
            case "start":
                runtimes = [Runtime(each) for each in settings]
                answer = [0.0 for _ in runtimes]
            case "scored":
                answer = [runtime.scored() for runtime in runtimes]
            case _:
                answer = [runtime.stop() for runtime in runtimes]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
