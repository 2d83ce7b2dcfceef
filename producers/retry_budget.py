"""How many requests may be sent a second time, so that no storm can grow out of a slow minute."""

import threading


class RetryBudget:
    """A bucket that every call fills by `share` of a permit, and every repeat takes one out of.

    So repeats are at most that share of the calls, and `reserve` at once.
    """

    def __init__(self, share: float = 0.1, reserve: float = 10.0) -> None:
        self._share, self._reserve = share, reserve
        self._permits = reserve
        self._lock = threading.Lock()

    def earn(self) -> None:
        """Count a call."""
        with self._lock:
            self._permits = min(self._reserve, self._permits + self._share)

    def spend(self) -> bool:
        """Take a permit for one repeat, if there is one."""
        with self._lock:
            if self._permits < 1.0:
                return False
            self._permits -= 1.0
            return True
