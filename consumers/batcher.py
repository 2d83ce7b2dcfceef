"""One queue between the poll thread and the device: batches are formed when the device asks for one."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from pelton.consumers.batch import Batch, CloseReason, Lane
from pelton.consumers.cost import Cost
from pelton.schemas.records import Records


class Batcher:
    """A bounded queue of records that closes a batch by size, by cost, or by the wait since its first record.

    A batch is formed only when `take` is called, and that is when the device is free: closing on time while the device
    is busy would make batches of one (see DESIGN.md, "Non-obvious"). The queue takes what one poll brought even if
    that passes the bound; `room` and `filled` tell whoever polls how much to ask for. Safe from any thread.
    """

    def __init__(
        self,
        *,
        max_size: int,
        max_wait_s: float,
        max_records: int,
        max_bytes: int,
        cost_limit: int | None = None,
        cost: Callable[[Any], int] | None = None,
        lane: Lane = Lane.STREAM,
    ) -> None:
        self.lane = lane
        self.max_size, self._max_wait_s = max_size, max_wait_s
        self._max_records, self._max_bytes = max_records, max_bytes
        self._cost = Cost(cost_limit, cost)
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._finished = threading.Condition(self._lock)
        self._queue: deque[Records] = deque()
        self.n_records = self.n_bytes = 0
        """Records waiting, and the bytes of their keys and values; to be read only."""
        self.takes_s = 0.0
        """What a batch takes, as far as is known; to be set by whoever scores."""
        self._n_taken = self._n_done = 0
        self._closed = False
        self._allowed: int | None = None

    def put(self, records: Records) -> None:
        """Queue what one poll brought of one partition; never blocks."""
        with self._lock:
            self._queue.append(records)
            self.n_records += len(records)
            self.n_bytes += records.n_bytes

    def take(self) -> Batch | None:
        """Return the next batch if one is due, else None; `done` must follow once it is finished."""
        with self._lock:
            if self._due_in_s() > 0:
                return None
            self._n_taken += 1
            return self._form()

    def done(self) -> None:
        """Say that the batch taken last is finished."""
        with self._lock:
            self._n_done += 1
            self._finished.notify_all()

    def due_in_s(self) -> float:
        """Return the seconds until a batch is due, 0 when one is, infinity when nothing waits."""
        with self._lock:
            return self._due_in_s()

    def wait_for_room(self, timeout_s: float) -> bool:
        """Wait until the queue is no longer full, at most `timeout_s`; return whether it has room."""
        with self._lock:
            return self._room.wait_for(lambda: self._closed or self.filled < 1, timeout_s)

    def wait_for_batch(self, timeout_s: float) -> bool:
        """Wait until the batch that is out now, if any, is finished; at most `timeout_s`. Return whether it is."""
        with self._lock:
            taken = self._n_taken
            return self._finished.wait_for(lambda: self._n_done >= taken, timeout_s)

    def drop(self, gone: Callable[[Records], bool]) -> int:
        """Forget queued records for which `gone` holds, and return how many there were."""
        with self._lock:
            before, head = self.n_records, self.head
            self._queue = deque(records for records in self._queue if not gone(records))
            if self._allowed and self.head is not head:
                self._allowed = 0
            self._recount()
            self._room.notify_all()
            return before - self.n_records

    def hold(self, *, held: bool) -> None:
        """Give out nothing from now on but what is admitted by number; or end that."""
        with self._lock:
            self._allowed = (self._allowed or 0) if held else None

    def admit(self, n: int) -> None:
        """Let the first `n` records of the head go, while the queue is held."""
        with self._lock:
            self._allowed = n

    def close(self) -> None:
        """Give out no more batches, and end the waits for room."""
        with self._lock:
            self._closed = True
            self._room.notify_all()

    @property
    def head(self) -> Records | None:
        """The block that has waited longest; stays so while the queue is held and nothing is admitted."""
        return self._queue[0] if self._queue else None

    @property
    def wanted(self) -> int:
        """How many records whoever polls should wait for: one to begin a batch, then all that it lacks to be full.

        Where cost may close a batch earlier, each record has to be looked at as it comes.
        """
        lacking = self.max_size - self.n_records
        return lacking if 0 < lacking < self.max_size and self._cost.limit is None else 1

    @property
    def room(self) -> int:
        """How many records whoever polls may take at most: one at least, however full the queue is."""
        return max(1, self._max_records - self.n_records)

    @property
    def filled(self) -> float:
        """How much of the queue is taken, by records or by bytes; 1 and more is full."""
        return max(self.n_records / self._max_records, self.n_bytes / self._max_bytes)

    def _due_in_s(self) -> float:
        if self._closed:
            return math.inf  # who waits for a batch that is due, and is given none, would ask for ever
        if self._allowed is not None:
            return 0.0 if self._allowed and self._queue else math.inf
        if self.n_records >= self.max_size or self._cost.fills(self._queue):
            return 0.0
        if not self._queue:
            return math.inf
        return max(0.0, min(self._queue[0].arrived_s + self._max_wait_s, self._latest_s()) - time.monotonic())

    def _latest_s(self) -> float:
        """Return when a batch has to begin for the nearest deadline to be met."""
        return min(records.due_s for records in self._queue) - self.takes_s

    def _form(self) -> Batch:
        parts: list[Records] = []
        waited_s = time.monotonic() - self._queue[0].arrived_s
        by_priority = self._allowed is None and len({records.priority for records in self._queue}) > 1
        room, cost_left = min(self.max_size, self._allowed or self.max_size), self._cost.limit
        hurried = self._latest_s() < self._queue[0].arrived_s + self._max_wait_s
        reason = CloseReason.DEADLINE if hurried else CloseReason.WAIT
        if by_priority:
            self._queue = deque(sorted(self._queue, key=_urgency))
        while self._queue:
            head = self._queue.popleft()
            n, cost_left = self._cost.fitting(head, room, cost_left, first=not parts)
            if n < len(head):
                reason = CloseReason.SIZE if n == room else CloseReason.COST
                head, rest = head.split(n)
                self._queue.appendleft(rest)
            if len(head):
                parts.append(head)
                room -= len(head)
            if n == 0 or room == 0 or reason is CloseReason.COST or self._allowed:
                break
        if by_priority:  # back as it came: a trial whose earlier records lie behind would never end
            self._queue = deque(sorted(self._queue, key=_arrival))
        if self._allowed:
            self._allowed -= len(parts[0])
        reason = CloseReason.SIZE if room == 0 else reason
        self._recount(parts)
        self._room.notify_all()
        return Batch(parts, reason, waited_s, self.lane)

    def _recount(self, taken: list[Records] | None = None) -> None:
        if taken is None:
            self.n_records = sum(map(len, self._queue))
            self.n_bytes = sum(records.n_bytes for records in self._queue)
        else:
            self.n_records -= sum(map(len, taken))
            self.n_bytes -= sum(records.n_bytes for records in taken)


def _urgency(records: Records) -> int:
    return -records.priority


def _arrival(records: Records) -> tuple[float, int]:
    return records.arrived_s, records.offsets[0]
