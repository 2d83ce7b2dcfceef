"""What is on its way to the broker, and for how long nothing of it has arrived."""

import threading
import time


class UnderWay:
    """Counts messages between their sending and their end; safe from any thread."""

    def __init__(self) -> None:
        self.n = 0
        self._moved_s = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Count one more."""
        with self._lock:
            if not self.n:
                self._moved_s = time.monotonic()
            self.n += 1

    def end(self, *, arrived: bool) -> None:
        """Count one less, which has arrived, or is given up."""
        with self._lock:
            self.n -= 1
            if arrived:
                self._moved_s = time.monotonic()

    def waiting_s(self) -> float:
        """Return for how long something has been on its way while nothing arrived, in seconds, or 0."""
        return time.monotonic() - self._moved_s if self.n else 0.0
