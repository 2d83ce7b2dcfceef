"""What a scaler measures: how fast offsets move, and how much a worker does while it is busy."""

from collections import deque
from collections.abc import Mapping

from pelton.consumers.assignment import Partition

RATE_S = 30.0
"""How far back the rate of arrival looks, in seconds."""
SATURATED = 0.9
"""A worker that is busy for so large a share of its time shows all that it can do."""
LEAST_BUSY_S = 2.0
"""What was done in less busy time than this tells nothing."""
NEW = 0.3
"""Weight of the latest measurement."""


class Slope:
    """Offsets a second, over all partitions that were there from the first look of the window to the last."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, dict[Partition, int]]] = deque()

    def see(self, at_s: float, offsets: Mapping[Partition, int]) -> None:
        """Take what a look at `at_s` (monotonic) found."""
        self._looks.append((at_s, dict(offsets)))
        while len(self._looks) > 2 and self._looks[1][0] <= at_s - RATE_S:
            self._looks.popleft()

    @property
    def per_s(self) -> float | None:
        """The rate over the window, None before the second look."""
        if len(self._looks) < 2:
            return None
        (then_s, then), (now_s, now) = self._looks[0], self._looks[-1]
        # A partition that was added begins with its end, and one that was made anew with less than before.
        moved = sum(max(0, now[at] - then[at]) for at in now.keys() & then.keys())
        return moved / (now_s - then_s)


class Capacity:
    """Records a second that one worker does while it is busy.

    A worker that idles works in small batches, which cost more for each record: what it does tells the least it can
    do. Only one that is busy all the time shows all of it, and that is remembered.
    """

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, int, float]] = {}
        self._full: float | None = None
        self._partial: float | None = None

    def see(self, worker: int, at_s: float, done: int, busy_s: float) -> None:
        """Take a worker's running totals of finished records and busy time as of `at_s` (monotonic).

        Totals that went back are a new process's. What is finished tells of the time since something was before: a
        batch may take longer than the time between two looks.
        """
        now = (at_s, done, busy_s)
        before = self._before.setdefault(worker, now)
        if done < before[1] or busy_s < before[2]:
            self._before[worker] = now
            return
        passed_s, done, busy_s = at_s - before[0], done - before[1], busy_s - before[2]
        if busy_s < LEAST_BUSY_S or not done:
            return
        self._before[worker] = now
        if busy_s >= SATURATED * passed_s:
            self._full = _mixed(self._full, done / busy_s)
        else:
            self._partial = _mixed(self._partial, done / busy_s)

    @property
    def per_s(self) -> float | None:
        """The best estimate, None before anything was measured."""
        return max((each for each in (self._full, self._partial) if each is not None), default=None)


def _mixed(old: float | None, new: float) -> float:
    return new if old is None else (1 - NEW) * old + NEW * new
