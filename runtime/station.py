"""The place before the device: whoever is free takes the next batch there, one at a time."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from pelton.consumers.batch import Batch, Lane
from pelton.consumers.batcher import Batcher
from pelton.consumers.lanes import Lanes

SLOW_BATCH_S = 0.01
RECENT = 8
BUSY_POLL_S = 0.1


class Station:
    """Gives each batch to the road it came by; safe from any thread.

    There is no thread that only scores: a record stays with the thread that polled it, which is the cheapest where
    only one polls. Where two do, either scores what is due, so that neither waits for the other's poll.
    """

    def __init__(self, batcher: Batcher | Lanes, score: Mapping[Lane, Callable[[Batch], None]]) -> None:
        self._batcher, self._score = batcher, score
        self._device = threading.Lock()
        self._recent_s: deque[float] = deque(maxlen=RECENT)
        self.slow = threading.Event()
        """Set while batches take long."""
        self.at_work: threading.Thread | None = None
        """The thread that scores now."""

    def serve(self) -> bool:
        """Score one batch if one is due and the device is free; return whether there was one."""
        while self._device.acquire(blocking=False):
            try:
                if batch := self._batcher.take():
                    self._run(batch)
                    return True
            finally:
                self._device.release()
            # Whoever queued something meanwhile found the device taken, and relies on this second look.
            if self._batcher.due_in_s() > 0:
                break
        return False

    def idle_s(self, due_s: float) -> float:
        """Return how long whoever fills a lane may wait for records, given when a batch of that lane is due.

        One that is due behind a batch in the model is taken by whoever finishes that.
        """
        return BUSY_POLL_S if due_s == 0 and self._device.locked() else due_s

    def close(self) -> None:
        """Give out no more batches."""
        self._batcher.close()

    def _run(self, batch: Batch) -> None:
        started_s = time.monotonic()
        self.at_work = threading.current_thread()
        try:
            self._score[batch.lane](batch)
        finally:
            self.at_work = None
        self._recent_s.append(time.monotonic() - started_s)
        # The longest of them: to begin too early costs company in a batch, to begin too late costs the answer.
        self._batcher.takes_s = max(self._recent_s)
        # The shortest of the last few: one batch that took long on a busy machine does not make a model slow.
        if min(self._recent_s) > SLOW_BATCH_S:
            self.slow.set()
        else:
            self.slow.clear()
