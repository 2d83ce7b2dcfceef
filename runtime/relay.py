"""The threads of a worker: one for each road it walks, and the main one that stands in at the poll."""

import math
import threading
import time
from collections.abc import Callable, Mapping

from pelton.consumers.batch import Batch, Lane
from pelton.consumers.batcher import Batcher
from pelton.consumers.lanes import Lanes
from pelton.deadline import Deadline
from pelton.errors import KafkaFailure, OutOfMemory
from pelton.road import Road
from pelton.station import Station
from pelton.walker import POLL_S, STAND_IN_S, Walker

SURPRISE_S = 0.05
FINISH_SHARE = 0.8


class Relay:
    """Walks each road in one thread while the model is fast, and polls in another while it is not.

    A walker polls and scores by turns: everything of a record stays in one core's cache, and nobody waits for the
    interpreter's lock. The main thread takes signals and stands in at the poll when a batch takes long, so that the
    member stays in its group however slow the model is, and the next batch is decoded meanwhile. A batch older than
    `stall_s` is one that the model may never come back from.
    """

    def __init__(self, *roads: Road, stream_share: float = 0.0, stall_s: float = math.inf) -> None:
        queue = _queue({road.batcher.lane: road.batcher for road in roads}, stream_share)
        self._station = Station(queue, {road.batcher.lane: _scoring(road) for road in roads})
        self._progress, self._stall_s = roads[0].progress, stall_s
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
        left = [walker.leave(deadline, blame=self._batch_age_s > self._stall_s) for walker in finished]
        return len(finished) == len(self._walkers) and all(left)

    @property
    def _failure(self) -> BaseException | None:
        return next((walker.failure for walker in self._walkers if walker.failure is not None), None)

    def _end(self) -> None:
        for walker in self._walkers:
            walker.end()
        self._station.close()

    def _stand_in_needed(self) -> bool:
        age_s = self._batch_age_s
        return self._failure is None and (age_s > SURPRISE_S or (age_s > 0 and self._station.slow.is_set()))

    @property
    def _batch_age_s(self) -> float:
        """How long the batch now in the model has been there, 0 while there is none."""
        started_s = self._progress.batch_started_s
        return time.monotonic() - started_s if started_s else 0.0


def _scoring(road: Road) -> Callable[[Batch], None]:
    """Return how a batch of a road is scored, within its span."""

    def score(batch: Batch) -> None:
        with road.traces.batch(batch):
            road.score(batch)

    return score


def _queue(queues: Mapping[Lane, Batcher], stream_share: float) -> Batcher | Lanes:
    """Return what the device takes its batches from: the only queue, or both by turns."""
    if len(queues) == 1:
        return next(iter(queues.values()))
    return Lanes(queues[Lane.REQUESTS], queues[Lane.STREAM], stream_share)
