"""How much may be on its way to the broker at once."""

import threading
from collections.abc import Callable

SLICE_S = 0.05


class Window:
    """A bound on outputs handed to librdkafka and not yet reported; full means back-pressure, never an error."""

    def __init__(self, max_records: int, serve: Callable[[float], None]) -> None:
        self.max_records = max_records
        self._serve = serve
        self._lock = threading.Lock()
        self._in_flight = 0

    def enter(self, n: int, check: Callable[[], None]) -> None:
        """Wait for room for `n` outputs, serving delivery reports; `check` may raise to end the wait.

        More than the bound at once is let in when nothing else is on its way.
        """
        while self._in_flight and self._in_flight + n > self.max_records:
            check()
            self._serve(SLICE_S)
        check()
        with self._lock:
            self._in_flight += n

    def leave(self, n: int) -> None:
        """Note that `n` outputs have their delivery reports."""
        with self._lock:
            self._in_flight -= n

    @property
    def in_flight(self) -> int:
        """Outputs without a delivery report."""
        return self._in_flight
