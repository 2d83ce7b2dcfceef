"""The two threads of a worker, and the baton between them."""

import threading
import time
from collections import deque
from collections.abc import Callable

import structlog

from pelton.deadline import Deadline
from pelton.errors import KafkaFailure, OutOfMemory
from pelton.loop import Loop

log = structlog.get_logger(__name__)

POLL_S = 0.1
STAND_IN_S = 0.01
SLOW_BATCH_S = 0.01
RECENT = 8
SURPRISE_S = 0.05
ACQUIT_S = 1.0
LEAVE_S = 3.0
FINISH_SHARE = 0.8


class Relay:
    """Walks a loop in one thread while the model is fast, and polls in a second one while it is not.

    The walker polls and scores by turns: everything of a record stays in one core's cache, and nobody waits for the
    interpreter's lock. The main thread takes signals and stands in at the poll when a batch takes long, so that the
    member stays in its group however slow the model is, and the next batch is decoded meanwhile. Whoever holds the
    baton may touch the consumer and the offsets.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._baton = threading.Lock()
        self._slow = threading.Event()
        self._recent_s: deque[float] = deque(maxlen=RECENT)
        self._ending = False
        self._in_time = False
        self._failure: BaseException | None = None
        self._walker = threading.Thread(target=self._walk, name="walker", daemon=True)

    def run(self, stopping: threading.Event) -> None:
        """Walk until told to stop; raises whatever ended the walker."""
        self._walker.start()
        try:
            while not stopping.is_set() and self._failure is None:
                self._slow.wait(POLL_S)
                while self._stand_in_needed() and not stopping.is_set():
                    with self._baton:
                        self._loop.turn(STAND_IN_S)
            if self._failure is not None:
                raise self._failure
        except (KafkaFailure, OutOfMemory):
            self._acquit()
            raise

    def leave(self) -> None:
        """Leave the group after a failure, so that others need not wait for the session to end; marks stay."""
        self._ending = True
        self._loop.batcher.close()
        if self._baton.acquire(timeout=ACQUIT_S):
            _ends_within(LEAVE_S, self._part)

    def drain(self, deadline: Deadline) -> bool:
        """Finish the batch in hand, drop what waits, commit, leave the group; return whether that was in time."""
        loop = self._loop
        self._ending = True
        loop.batcher.close()
        finishing = Deadline.after(FINISH_SHARE * deadline.remaining_s())
        self._walker.join(finishing.remaining_s())
        if not self._baton.acquire(timeout=max(POLL_S, finishing.remaining_s())):
            return False
        self._in_time = loop.sink.flush(finishing) and not self._walker.is_alive()
        left = _ends_within(deadline.remaining_s(), self._leave)
        return self._in_time and left

    def _part(self) -> None:
        self._loop.sink.close()
        self._loop.source.leave()

    def _leave(self) -> None:
        loop = self._loop
        try:
            loop.settle()
            if not self._walker.is_alive():
                loop.give_back()
            loop.commit(wait=True)
        except KafkaFailure as error:
            self._in_time = False
            log.warning("last_commit_failed", reason=str(error))
        loop.sink.close()
        loop.trials.abandon()
        loop.source.close()

    def _acquit(self) -> None:
        """Say that no record is to blame: the broker failed, or the device is full."""
        if self._baton.acquire(timeout=ACQUIT_S):
            try:
                self._loop.give_back()
            finally:
                self._baton.release()

    def _stand_in_needed(self) -> bool:
        started_s = self._loop.progress.batch_started_s
        if not started_s or self._failure is not None:
            return False
        return self._slow.is_set() or time.monotonic() - started_s > SURPRISE_S

    def _walk(self) -> None:
        try:
            while not self._ending:
                self._step()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which ends the worker with it
            self._failure = error
            self._slow.set()  # wakes the main thread

    def _step(self) -> None:
        loop = self._loop
        batch = loop.batcher.take()
        if batch is None:
            with self._baton:
                loop.turn(min(POLL_S, loop.batcher.due_in_s()))
            return
        started_s = time.monotonic()
        loop.score(batch)
        self._recent_s.append(time.monotonic() - started_s)
        # The shortest of the last few: one batch that took long on a busy machine does not make a model slow.
        if min(self._recent_s) > SLOW_BATCH_S:
            self._slow.set()
        else:
            self._slow.clear()


def _ends_within(seconds: float, leave: Callable[[], None]) -> bool:
    """Run a goodbye to the broker; return whether it ended in time.

    Without a broker, a commit or a goodbye blocks for a whole session, and only a thread can be left behind.
    """
    leaving = threading.Thread(target=leave, name="leaving", daemon=True)
    leaving.start()
    leaving.join(seconds)
    return not leaving.is_alive()
