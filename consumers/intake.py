"""Back-pressure: when to ask Kafka for more, when to wait, when to pause."""

import time
from collections.abc import Callable
from enum import StrEnum

from pelton.consumers.batcher import Batcher
from pelton.consumers.source import Source
from pelton.deadline import Deadline
from pelton.schemas.records import Records

PAUSE_AFTER_S = 0.5
LOOK_AGAIN_S = 0.01


class Flow(StrEnum):
    """What the poll thread does about the queue."""

    FLOWING = "flowing"
    WAITING = "waiting"
    PAUSED = "paused"


class Intake:
    """Asks the source for records while the queue has room.

    Pausing throws away what has been fetched ahead, so a full queue is waited for first, and partitions are paused
    only when it stays full. Paused partitions are still polled: the member stays in its group however slow the model
    is. They flow again when half of the queue is free. `also_filled` tells of another bound, 1 and more is full.
    """

    def __init__(self, source: Source, batcher: Batcher, also_filled: Callable[[], float] = lambda: 0.0) -> None:
        self._source, self._batcher, self._also_filled = source, batcher, also_filled
        self._flow = Flow.FLOWING
        self._patience = Deadline.after(0)
        self.idle_s = 0.0
        """How long polls have waited for records that a batch lacked, altogether."""

    @property
    def flow(self) -> Flow:
        """What is being done about the queue now."""
        return self._flow

    def next(self, timeout_s: float) -> list[Records]:
        """Return what the source has, or nothing after `timeout_s` at most."""
        self._decide()
        if self._flow is Flow.WAITING:
            wait_s = min(timeout_s, self._patience.remaining_s())
            if self._batcher.wait_for_room(wait_s) and self._also_filled() >= 1:
                time.sleep(min(wait_s, LOOK_AGAIN_S))
            return []
        began_s, wanted = time.monotonic(), self._batcher.wanted
        blocks = self._source.poll(timeout_s, wanted, self._batcher.room)
        if sum(map(len, blocks)) < wanted:
            self.idle_s += time.monotonic() - began_s
        return blocks

    def _decide(self) -> None:
        filled = max(self._batcher.filled, self._also_filled())
        if self._flow is Flow.PAUSED:
            if filled <= 0.5:
                self._source.resume()
                self._flow = Flow.FLOWING
        elif filled < 1:
            self._flow = Flow.FLOWING
        elif self._flow is Flow.FLOWING:
            self._flow = Flow.WAITING
            self._patience = Deadline.after(PAUSE_AFTER_S)
        elif self._patience.expired:
            self._source.pause()
            self._flow = Flow.PAUSED
