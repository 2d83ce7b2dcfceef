"""Progress of one worker in shared memory, readable whatever the worker is doing."""

import mmap
import os
import time
from typing import Self

_SLOTS = 7
_BYTES = _SLOTS * 8


class _Slot:
    """One double in the shared memory; an aligned store of 8 bytes needs no lock."""

    def __init__(self, index: int, doc: str) -> None:
        self._index = index
        self.__doc__ = doc

    def __get__(self, progress: "Progress", owner: type) -> float:
        return progress.cells[self._index]

    def __set__(self, progress: "Progress", seconds: float) -> None:
        progress.cells[self._index] = seconds


class Progress:
    """Time stamps a worker writes and its supervisor reads, in seconds of `time.monotonic()`.

    That clock is shared by all processes of a machine. Zero means "not yet" or "nothing".
    The supervisor calls `create()` and hands `fd` down; the worker calls `attach(fd)`.
    """

    poll_beat_s = _Slot(0, "when the poll loop last came round")
    batch_started_s = _Slot(1, "when the batch now in the model began; 0 while there is none")
    batch_finished_s = _Slot(2, "when a batch last came out of the model")
    oldest_unfinished_s = _Slot(3, "when the oldest record not yet written was polled; 0 for none")

    batches_s = _Slot(6, "how long batches have been in the model altogether, without the one that is in it now")

    request_beat_s = _Slot(4, "when the poll loop of the requests last came round")
    oldest_request_s = _Slot(5, "when the oldest request not yet answered was polled; 0 for none")

    def __init__(self, memory: mmap.mmap, fd: int) -> None:
        self.fd = fd
        """The descriptor to hand to the worker, or -1 when there is none to hand on."""
        self.cells: memoryview[float] = memoryview(memory).cast("d")
        self._memory = memory

    @classmethod
    def create(cls) -> Self:
        """Make new shared memory, all slots zero."""
        fd = os.memfd_create("pelton-progress")
        os.ftruncate(fd, _BYTES)
        return cls(mmap.mmap(fd, _BYTES), fd)

    @classmethod
    def attach(cls, fd: int) -> Self:
        """Map the shared memory behind an inherited descriptor; the descriptor is closed."""
        memory = mmap.mmap(fd, _BYTES)
        os.close(fd)
        return cls(memory, -1)

    @classmethod
    def null(cls) -> Self:
        """Make progress that nobody reads, for a worker without a supervisor and for tests."""
        return cls(mmap.mmap(-1, _BYTES), -1)

    def begin_batch(self) -> float:
        """Note that a batch enters the model, and return when."""
        self.batch_started_s = time.monotonic()
        return self.batch_started_s

    def end_batch(self) -> float:
        """Note that the batch has left the model, and return when."""
        self.batch_finished_s = time.monotonic()
        self.batches_s += self.batch_finished_s - self.batch_started_s
        self.batch_started_s = 0
        return self.batch_finished_s

    @property
    def slowest_beat_s(self) -> float:
        """When the poll loop came round that has not done so for longest; 0 before any has begun."""
        return min((beat_s for beat_s in (self.poll_beat_s, self.request_beat_s) if beat_s), default=0.0)

    @property
    def oldest_s(self) -> float:
        """When the oldest record or request without an outcome was polled; 0 for none."""
        return min((at_s for at_s in (self.oldest_unfinished_s, self.oldest_request_s) if at_s), default=0.0)

    def close(self) -> None:
        """Give the memory and the descriptor back; calling it again does nothing."""
        self.cells.release()
        self._memory.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
