"""One thread that polls and scores by turns, and the end of its road."""

import threading
from collections.abc import Callable
from functools import partial

import structlog

from pelton.deadline import Deadline
from pelton.errors import KafkaFailure
from pelton.road import Road
from pelton.station import Station

log = structlog.get_logger(__name__)

POLL_S = 0.1
STAND_IN_S = 0.01
ACQUIT_S = 1.0
LEAVE_S = 3.0


class Walker:
    """Walks one road: polls, and scores what is due, whichever road that came by.

    Whoever holds the baton may touch the road's consumer and offsets: this thread, or another that stands in for it
    at the poll while it is inside a slow model.
    """

    def __init__(self, road: Road, station: Station, name: str) -> None:
        self.road, self._station = road, station
        self.failure: BaseException | None = None
        self._baton = threading.Lock()
        self._ending = self._in_time = self._at_end = False
        self._thread = threading.Thread(target=self._walk, name=name, daemon=True)

    def start(self) -> None:
        """Begin to walk."""
        self._thread.start()

    def end(self) -> None:
        """Take no further step."""
        self._ending = True

    def stand_in(self) -> bool:
        """Poll in its place if it is the one inside the model; return whether it was."""
        if self.failure is not None or self._station.at_work is not self._thread:
            return False
        with self._baton:
            self.road.turn(STAND_IN_S)
        return True

    def finish(self, deadline: Deadline) -> bool:
        """Wait for the batch in hand and for its scores; return whether the road may be left as it should be."""
        self._thread.join(deadline.remaining_s())
        if not self._baton.acquire(timeout=max(POLL_S, deadline.remaining_s())):
            return False
        self._at_end = True
        self._in_time = self.road.sink.flush(deadline) and not self._thread.is_alive()
        return True

    def leave(self, deadline: Deadline, *, blame: bool) -> bool:
        """After `finish`: commit and leave the group; return whether all was in time.

        With `blame` the marks stay on what is still in the model: it may be what the model never comes back from.
        """
        left = _ends_within(deadline.remaining_s(), partial(self._say_goodbye, blame=blame))
        return self._in_time and left

    def desert(self) -> None:
        """Leave the group after a failure, so that others need not wait for the session to end; marks stay."""
        if self._at_end or self._baton.acquire(timeout=ACQUIT_S):
            _ends_within(LEAVE_S, self._part)

    def acquit(self) -> None:
        """Say that no record is to blame: the broker failed, or the device is full."""
        if self._baton.acquire(timeout=ACQUIT_S):
            try:
                self.road.give_back()
            finally:
                self._baton.release()

    def _walk(self) -> None:
        try:
            while not self._ending:
                self._step()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which ends the worker with it
            self.failure = error
            self._station.slow.set()  # wakes the main thread

    def _step(self) -> None:
        if not self._station.serve():
            with self._baton:
                self.road.turn(min(POLL_S, self._station.idle_s(self.road.batcher.due_in_s())))

    def _part(self) -> None:
        self.road.sink.close()
        self.road.source.leave()

    def _say_goodbye(self, *, blame: bool) -> None:
        road = self.road
        try:
            road.settle()
            if not (blame and self._thread.is_alive()):
                road.give_back()
            road.commit(wait=True)
        except KafkaFailure as error:
            self._in_time = False
            log.warning("last_commit_failed", reason=str(error))
        road.sink.close()
        road.trials.abandon()
        road.source.close()


def _ends_within(seconds: float, leave: Callable[[], None]) -> bool:
    """Run a goodbye to the broker; return whether it ended in time.

    Without a broker, a commit or a goodbye blocks for a whole session, and only a thread can be left behind.
    """
    leaving = threading.Thread(target=leave, name="leaving", daemon=True)
    leaving.start()
    leaving.join(seconds)
    return not leaving.is_alive()
