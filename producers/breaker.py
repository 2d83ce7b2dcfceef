"""Stops calls while most of them fail."""

import math
import time
from collections.abc import Callable
from contextvars import Context

import structlog
from interlock import CircuitBreaker, CircuitOpenError, Config, State, WindowType

from pelton.errors import CircuitOpen, PeltonError

log = structlog.get_logger(__name__)

OPEN_S = 30.0
WINDOW_S = 30
FEWEST_CALLS = 20

_CONFIG = Config(
    # The library opens at the threshold; this is the next number above a half.
    failure_rate_threshold=math.nextafter(0.5, 1.0),
    minimum_number_of_calls=FEWEST_CALLS,
    window_type=WindowType.TIME_BASED,
    window_size=WINDOW_S,
    wait_duration_in_open=OPEN_S,
    permitted_calls_in_half_open=1,
    # A call may take minutes and be well: it is never held against the other side that it is slow.
    slow_call_duration_threshold=1e9,
)


class _Clock:
    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s

    def monotonic(self) -> float:
        return self._now_s()


Admission = Context
"""What a call holds from its start to its end: the library keeps in it when and as what the call began."""


class Breaker:
    """Opens when more than half of at least 20 calls within 30 s failed; after 30 s one is tried."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._breaker = CircuitBreaker(name=name, config=_CONFIG, clock=_Clock(clock))
        self._told = False

    def enter(self) -> Admission:
        """Let a call begin; raises CircuitOpen when none may."""
        admission = Context()
        try:
            admission.run(self._breaker.__enter__)
        except CircuitOpenError as refused:
            self._tell_open(refused)
            error = CircuitOpen(f"not sent: most calls to {self._name} have failed")
            error.retry_after_s = refused.retry_after or 0.0
            raise error from refused.last_failure
        return admission

    def leave(self, admission: Admission, failure: PeltonError | None) -> None:
        """Count a call that ended well, or with a failure of the other side."""
        admission.run(self._breaker.__exit__, None, failure, None)
        if self._told and self._breaker.state is State.CLOSED:
            self._told = False
            log.info("circuit_closed", topic=self._name)

    def release(self, admission: Admission) -> None:
        """Forget a call whose end says nothing, so that another can be tried in its place."""
        # To the library, what is no Exception is an interruption.
        admission.run(self._breaker.__exit__, None, KeyboardInterrupt(), None)

    def _tell_open(self, refused: CircuitOpenError) -> None:
        if not self._told:
            self._told = True
            log.warning("circuit_opened", topic=self._name, last_failure=str(refused.last_failure))
