"""Tries to write: how many have failed since the last one that succeeded, since when, and why."""

import time
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)


def _nobody(_: str) -> None:
    return


class Tries:
    """What became of each try to commit, or to deliver; read from any thread."""

    def __init__(self, ended: Callable[[str], None] = _nobody) -> None:
        self.total = self.attempts = 0
        """Failed tries: since the process began, and in a row until now."""
        self.reason = ""
        self._since_s = 0.0
        self._ended = ended

    def failed(self, reason: str) -> None:
        """Note that what was tried has to be tried again."""
        self._since_s = self._since_s or time.monotonic()
        self.reason = reason
        log.debug("try_failed", reason=reason, attempts=self.attempts + 1)
        self.total += 1
        self.attempts += 1

    def ended(self, how: str) -> None:
        """Count a transaction that was committed, aborted or lost; a commit ends a row of failures."""
        self._ended(how)
        if how == "committed":
            self.succeeded()

    def succeeded(self) -> None:
        """End a row of failures."""
        self.attempts, self.reason, self._since_s = 0, "", 0.0

    def failing_s(self) -> float:
        """Return for how long none has succeeded, in seconds, 0 when the last one did."""
        since_s = self._since_s
        return time.monotonic() - since_s if since_s else 0.0
