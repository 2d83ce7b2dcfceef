"""The thread that ends transactions, so that neither polling nor scoring waits for the broker's answer."""

import threading
import time

import structlog

from pelton.deadline import Deadline
from pelton.errors import KafkaFailure, PeltonError
from pelton.metrics import Metrics
from pelton.producers.exact_sink import ExactSink

log = structlog.get_logger(__name__)

SHORTEST_S = 0.02
SHARE = 3
SMOOTHING = 0.2
ATTEMPT_S = 1.0
LOOK_S = 0.5


class Committer:
    """Commits what was written once it is old enough: the interval is three times what a commit takes, 20 ms at least.

    So commits take a quarter of the time at most, and a slow broker is asked less often. When somebody waits for a
    commit (the sink is full), it comes at once. It ends with the sink: whoever closes that, ends this.
    """

    def __init__(self, sink: ExactSink, metrics: Metrics) -> None:
        self._sink, self._metrics = sink, metrics
        self._interval_s = SHORTEST_S
        self._took_s = 0.005
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)

    def start(self) -> None:
        """Begin to commit."""
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._sink.closed:
                self._wait()
                self._commit()
        except PeltonError as error:
            self._sink.fail(error)
        except BaseException as error:
            log.exception("committer_failed")
            self._sink.fail(KafkaFailure(f"{type(error).__name__}: {error}"))
            raise

    def _wait(self) -> None:
        """Wait until something was written and is old enough, or somebody waits for it."""
        if self._sink.written.wait(LOOK_S):
            self._sink.hurry.wait(max(0.0, self._interval_s - self._sink.waiting_s()))

    def _commit(self) -> None:
        started_s = time.monotonic()
        if not self._sink.written.is_set():
            return
        done = self._sink.commit(Deadline.after(ATTEMPT_S))
        took_s = time.monotonic() - started_s
        if done:
            self._metrics.commit.observe(took_s)
            self._took_s += SMOOTHING * (took_s - self._took_s)
            self._interval_s = max(SHORTEST_S, SHARE * self._took_s)
        else:
            time.sleep(SHORTEST_S)
