"""The threads of a worker: one for each road it walks, and the main one that stands in at the poll."""

import threading
import time

from pelton.consumers.batch import Lane
from pelton.consumers.lanes import Lanes
from pelton.deadline import Deadline
from pelton.desk import Desk
from pelton.errors import KafkaFailure, OutOfMemory
from pelton.loop import Loop
from pelton.station import Station
from pelton.walker import POLL_S, STAND_IN_S, Road, Walker

SURPRISE_S = 0.05
FINISH_SHARE = 0.8


class Relay:
    """Walks each road in one thread while the model is fast, and polls in another while it is not.

    A walker polls and scores by turns: everything of a record stays in one core's cache, and nobody waits for the
    interpreter's lock. The main thread takes signals and stands in at the poll when a batch takes long, so that the
    member stays in its group however slow the model is, and the next batch is decoded meanwhile.
    """

    def __init__(self, loop: Loop, desk: Desk | None = None, stream_share: float = 1.0) -> None:
        self._station = _station(loop, desk, stream_share)
        self._progress = loop.progress
        roads: list[Road] = [loop, desk] if desk else [loop]
        self._walkers = [Walker(road, self._station, f"walker-{number}") for number, road in enumerate(roads)]

    def run(self, stopping: threading.Event) -> None:
        """Walk until told to stop; raises whatever ended a walker."""
        for walker in self._walkers:
            walker.start()
        try:
            while not stopping.is_set() and self._failure is None:
                self._station.slow.wait(POLL_S)
                while self._stand_in_needed() and not stopping.is_set():
                    if not any(walker.stand_in() for walker in self._walkers):
                        break
                # A slow model may have nothing to do for hours: look again soon, and not at once.
                stopping.wait(STAND_IN_S)
            if self._failure is not None:
                raise self._failure
        except (KafkaFailure, OutOfMemory):
            for walker in self._walkers:
                walker.acquit()
            raise

    def leave(self) -> None:
        """Leave the groups after a failure, so that others need not wait for the sessions to end; marks stay."""
        self._end()
        for walker in self._walkers:
            walker.desert()

    def drain(self, deadline: Deadline) -> bool:
        """Finish the batch in hand, drop what waits, commit, leave the groups; return whether that was in time."""
        self._end()
        finishing = Deadline.after(FINISH_SHARE * deadline.remaining_s())
        finished = [walker for walker in self._walkers if walker.finish(finishing)]
        left = [walker.leave(deadline) for walker in finished]
        return len(finished) == len(self._walkers) and all(left)

    @property
    def _failure(self) -> BaseException | None:
        return next((walker.failure for walker in self._walkers if walker.failure is not None), None)

    def _end(self) -> None:
        for walker in self._walkers:
            walker.end()
        self._station.close()

    def _stand_in_needed(self) -> bool:
        started_s = self._progress.batch_started_s
        if not started_s or self._failure is not None:
            return False
        return self._station.slow.is_set() or time.monotonic() - started_s > SURPRISE_S


def _station(loop: Loop, desk: Desk | None, stream_share: float) -> Station:
    """Return the place before the device, for the stream alone or for both roads."""
    if desk is None:
        return Station(loop.batcher, {Lane.STREAM: loop.score})
    lanes = Lanes(desk.batcher, loop.batcher, stream_share)
    return Station(lanes, {Lane.STREAM: loop.score, Lane.REQUESTS: desk.score})
