"""How much may be on its way to the broker at once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

SLICE_S = 0.05


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """How many outputs, and how many bytes of them, may be on their way at once."""

    records: int
    n_bytes: int = 64 * 2**20


class Window:
    """A bound on outputs handed to librdkafka and not yet reported; full means back-pressure, never an error."""

    def __init__(self, limits: WindowLimits, serve: Callable[[float], None]) -> None:
        self.max_records, self._max_bytes = limits.records, limits.n_bytes
        self._serve = serve
        self._lock = threading.Lock()
        self._in_flight = self._n_bytes = 0

    def enter(self, n: int, check: Callable[[], None]) -> None:
        """Wait for room for `n` outputs, serving delivery reports; `check` may raise to end the wait.

        More than the bound at once is let in when nothing else is on its way. What they weigh is told by `carry`,
        once they are encoded: the bound in bytes is passed by one block at most.
        """
        while self._in_flight and (self._in_flight + n > self.max_records or self._n_bytes >= self._max_bytes):
            check()
            self._serve(SLICE_S)
        check()
        with self._lock:
            self._in_flight += n

    def carry(self, n_bytes: int) -> None:
        """Note what the outputs that entered last weigh."""
        with self._lock:
            self._n_bytes += n_bytes

    def leave(self, n: int, n_bytes: int) -> None:
        """Note that `n` outputs of so many bytes have their delivery reports."""
        with self._lock:
            self._in_flight -= n
            self._n_bytes -= n_bytes

    @property
    def in_flight(self) -> int:
        """Outputs without a delivery report."""
        return self._in_flight
