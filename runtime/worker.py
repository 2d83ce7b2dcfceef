"""One worker process: load and warm the model, find the topics, join the groups, walk until told to stop."""

import argparse
import gc
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

import structlog

from pelton.errors import (
    AccessDenied,
    BrokerUnavailable,
    Fenced,
    KafkaFailure,
    PackageError,
    SettingsError,
    TopicMissing,
)
from pelton.logs import configure_logs
from pelton.progress import Progress
from pelton.reports import EXIT_FATAL, EXIT_FENCED, EXIT_SETTINGS, Reporter, end_with_parent
from pelton.schemas.settings import Settings
from pelton.states import WorkerState

log = structlog.get_logger(__name__)

LAST_WORDS_S = 2.0
LOOK_UP_S = 5.0
RETRY_S = (0.5, 1.0, 2.0, 5.0)


class Worker:
    """A worker from its start to its end; `run` returns the exit code of the process."""

    def __init__(self, settings: Settings, reporter: Reporter, progress: Progress, index: int) -> None:
        self._settings, self._reporter, self._progress, self._index = settings, reporter, progress, index
        self._stopping = threading.Event()
        self._holds_work = False
        self._hurry: Callable[[], None] = lambda: None
        self._started_s = time.monotonic()

    @property
    def holds_work(self) -> bool:
        """Whether there is anything to finish before the process may end."""
        return self._holds_work

    def stop(self) -> None:
        """Begin to drain; when told again, in a signal handler, give up what is not finished by now."""
        again = self._stopping.is_set()
        self._stopping.set()
        if again:
            self._hurry()

    def run(self) -> int:
        """Do all of it: 0 after a clean drain, 2 when settings or model are at fault, 4 when fenced, 3 for the rest."""
        try:
            return self._serve()
        except (SettingsError, PackageError) as error:
            self._reporter.state(WorkerState.STOPPED, str(error))
            return EXIT_SETTINGS
        except Fenced as error:
            reason = f"{error}; processes of one group need different settings `replica` and `stream.static_id`"
            log.error("worker_fenced", reason=reason)  # noqa: TRY400 - the reason says it all
            self._reporter.state(WorkerState.STOPPED, reason)
            return EXIT_FENCED
        except AccessDenied as error:
            # The next process waits until it is let in, and tells what it lacks.
            log.error("access_denied", reason=str(error))  # noqa: TRY400 - the reason says it all
            self._reporter.state(WorkerState.STOPPED, f"access denied: {error}")
            return EXIT_FATAL
        except Exception as error:
            log.exception("worker_failed")
            self._reporter.state(WorkerState.STOPPED, f"{type(error).__name__}: {error}")
            return EXIT_FATAL

    def _serve(self) -> int:
        self._reporter.state(WorkerState.LOADING)
        # Imported only now: a worker that is told to stop while torch loads must not have missed the signal. The
        # collector would walk through torch again and again while it loads, a fifth of that time, and find nothing.
        gc.disable()
        from pelton.serving import Serving  # noqa: PLC0415

        gc.enable()
        serving = Serving(self._settings, self._reporter, self._progress, self._index)
        serving.warm_up(self._started_s)
        topics = self._find_topics()
        if topics is None:
            return 0
        self._holds_work, self._hurry = True, serving.hurry
        return serving.serve(topics, self._stopping)

    def _find_topics(self) -> dict[str, int] | None:
        """Wait until the sink and the dead-letter topic exist; return their partitions, or None when stopped."""
        attempt, told, unheard = 0, "", False
        self._reporter.state(WorkerState.JOINING)
        while not self._stopping.is_set():
            try:
                return self._look_up(groups=not unheard)
            except KafkaFailure as error:
                unheard = isinstance(error, BrokerUnavailable)
                wait_s = RETRY_S[min(attempt, len(RETRY_S) - 1)]
                attempt += 1
                self._reporter.state(WorkerState.JOINING, str(error))
                if (kind := re.sub(r"\d+", "", str(error))) != told:  # what it waits for is told once, not for ever
                    log.warning("not_joined_yet", reason=str(error), retry_in_s=wait_s)
                    told = kind
                self._stopping.wait(wait_s)
        return None

    def _look_up(self, *, groups: bool) -> dict[str, int]:
        """Ask for rights and topics; not about groups where the broker is only coming back (DESIGN, "Known limits")."""
        from pelton.rights import check_rights  # noqa: PLC0415
        from pelton.topics import describe  # noqa: PLC0415

        check_rights(self._settings, LOOK_UP_S, groups=groups)
        stream = self._settings.stream
        needed = [stream.sink, stream.dead_letter] if stream else []
        found = describe(dict(self._settings.kafka), needed, timeout_s=LOOK_UP_S)
        if missing := [topic for topic in needed if topic not in found]:
            raise TopicMissing(f"no topic {' and no topic '.join(missing)}")
        return found


def _limit_threads(n: int) -> None:
    """Have every thread compute with `n` threads at most; works only before torch is imported.

    OpenMP keeps the number by thread: `torch.set_num_threads` in this one says nothing to the one that scores, whose
    every product would wait for a helper on a core that others need (see DESIGN.md, "Non-obvious").
    """
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(n)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one worker with what its supervisor hands down: settings, report pipe, progress memory, index."""
    parser = argparse.ArgumentParser(prog="pelton.worker", description=__doc__)
    for name in ("settings-fd", "report-fd", "progress-fd", "index"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args(arguments)
    end_with_parent(given.report_fd)
    with os.fdopen(given.settings_fd) as file:
        settings = Settings.from_json(file.read())
    configure_logs(settings.log.level, settings.log.format, worker=given.index)
    _limit_threads(settings.threads)
    reporter = Reporter(given.report_fd)
    worker = Worker(settings, reporter, Progress.attach(given.progress_fd), given.index)

    def on_signal(*_: object) -> None:
        worker.stop()
        if not worker.holds_work:
            # Nothing was read yet. To load a model takes minutes, and nobody should wait for that.
            os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    code = worker.run()
    reporter.close(LAST_WORDS_S)
    return code


if __name__ == "__main__":
    exit_code = main()
    sys.stderr.flush()
    # Not sys.exit: a scoring thread that hangs inside the model must not keep the process from ending.
    os._exit(exit_code)
