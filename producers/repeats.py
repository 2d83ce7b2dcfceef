"""When a call is sent again, and when to look at it next."""

import random
from collections.abc import Callable

from pelton.errors import AccessDenied, CallExpired, PeltonError, TopicMissing
from pelton.producers.call_options import CallOptions
from pelton.producers.latencies import Latencies
from pelton.producers.pending_calls import Call, Step
from pelton.producers.retry_budget import RetryBudget

MOST_PAUSE_S = 5.0

_FINAL = (CallExpired, TopicMissing, AccessDenied)
"""What can pass, but hardly by the call's deadline, nor for one call alone."""


class Repeats:
    """Plans repeats and second copies of calls, within a budget that all calls of a client share."""

    def __init__(
        self, options: CallOptions, latencies: Latencies, uniform: Callable[[float, float], float] = random.uniform
    ) -> None:
        self._options, self._latencies, self._uniform = options, latencies, uniform
        self.budget = RetryBudget()

    def after_sending(self, call: Call, now_s: float) -> tuple[float, Step]:
        """Return when something is due for a call that was sent just now, and what."""
        due_s, step = call.until_s, Step.EXPIRE
        if call.repeats < self._options.repeats and (silent_s := now_s + self._silence_s(call)) < due_s:
            due_s, step = silent_s, Step.SILENCE
        if self._options.hedge and call.partition >= 0 and call.hedged_to is None and self._latencies.p95_s:
            late_s = now_s + self._latencies.p95_s
            due_s, step = (late_s, Step.HEDGE) if late_s < due_s else (due_s, step)
        return due_s, step

    def after_failure(self, call: Call, error: PeltonError, now_s: float) -> float | None:
        """Return when a call that failed is to be sent again; None if it is not."""
        if not error.retriable or isinstance(error, _FINAL):
            return None
        pause_s = min(MOST_PAUSE_S, self._options.backoff_s * 2**call.repeats) * self._uniform(0.1, 1.0)
        return now_s + pause_s if self.may_repeat(call, now_s + pause_s) else None

    def may_repeat(self, call: Call, at_s: float) -> bool:
        """Take a permit for a repeat, if there is one and the call may be repeated at that time."""
        return call.repeats < self._options.repeats and at_s < call.until_s and self.budget.spend()

    def _silence_s(self, call: Call) -> float:
        whole_s = self._options.silence_s or (call.until_s - call.began_s) / (self._options.repeats + 1)
        return whole_s * self._uniform(0.9, 1.1)
