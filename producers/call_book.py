"""The calls of one client from their beginning to their end: who is told what, and what is counted."""

import copy
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from pelton.errors import CallCancelled, CallError, CallExpired, PeltonError
from pelton.producers.breaker import Breaker
from pelton.producers.call_counts import CallCounts
from pelton.producers.latencies import Latencies
from pelton.producers.pending_calls import Call, PendingCalls, Step
from pelton.schemas.codes import Code

PATIENCE_S = 1.0
"""Waits shorter than this, or than answers usually take, say nothing about the other side."""


class Settled(NamedTuple):
    """A call that has ended: with data, or with an error."""

    call: Call
    data: Any
    error: PeltonError | None


class CallBook:
    """Opens and ends calls, from any thread; whoever ends one first is the one that counts."""

    def __init__(self, name: str, deliver: Callable[[list[Settled]], None], clock: Callable[[], float]) -> None:
        self._deliver, self._clock = deliver, clock
        self._breaker = Breaker(name, clock)
        self._settled: deque[Settled] = deque()
        self._lock = threading.Lock()
        self.pending = PendingCalls(clock)
        self.latencies = Latencies()
        self.counts = CallCounts()

    def open(self, call: Call, due_s: float, step: Step) -> None:
        """Let a call begin; raises CircuitOpen when none may."""
        call.admission = self._breaker.enter()
        self.pending.add(call, due_s, step)

    def drop(self, call: Call) -> bool:
        """Forget a call whose caller is told otherwise; tells whether it was still open."""
        if waited := self.pending.pop(call):
            self._breaker.release(call.admission)
        return waited

    def answer(self, call: Call, data: Any) -> None:
        """End a call well; for the thread that reads answers."""
        if self.pending.pop(call):
            self.latencies.note(self._clock() - call.began_s)
            self.counts.answered += 1
            self._breaker.leave(call.admission, None)
            self._settled.append(Settled(call, data, None))

    def fail(self, call: Call, error: PeltonError) -> bool:
        """End a call with an error; tells whether it was still open."""
        waited = self.pending.pop(call)
        if waited:
            self._end(call, error)
        return waited

    def fail_all(self, cause: PeltonError) -> list[Call]:
        """End every call with the same cause, and tell at once; returns the calls."""
        calls = self.pending.pop_all()
        for call in calls:
            self._end(call, one_more(cause))
        self.hand_over()
        return calls

    def note_stray(self, *, ours: bool) -> None:
        """Count an answer nobody waits for: to an earlier call of ours, or to somebody else's."""
        if ours:
            self.counts.late += 1
        else:
            self.counts.foreign += 1

    def hand_over(self) -> None:
        """Tell those whose calls have ended."""
        ended = []
        while self._settled:
            try:
                ended.append(self._settled.popleft())
            except IndexError:  # another thread was quicker
                break
        if ended:
            self._deliver(ended)

    def numbers(self) -> CallCounts:
        """Return the counts as they are now."""
        return replace(self.counts, pending=len(self.pending))

    def _end(self, call: Call, error: PeltonError) -> None:
        with self._lock:
            self.counts.failed += 1
            self.counts.expired += isinstance(error, CallExpired)
            self.counts.cancelled += isinstance(error, CallCancelled)
        if isinstance(error, CallCancelled) or (isinstance(error, CallExpired) and not self._was_patient(call)):
            self._breaker.release(call.admission)
        else:
            self._breaker.leave(call.admission, error if _blames(error) else None)
        self._settled.append(Settled(call, None, error))

    def _was_patient(self, call: Call) -> bool:
        return self._clock() - call.began_s >= min(PATIENCE_S, self.latencies.p95_s or PATIENCE_S)


def one_more(cause: PeltonError) -> PeltonError:
    """Return an error of its own for one of many callers: a traceback is collected in each."""
    error = copy.copy(cause)
    error.__cause__ = cause
    return error


def _blames(error: PeltonError) -> bool:
    """Tell whether an error speaks against the other side's health; an empty bucket is the caller's own affair."""
    if isinstance(error, CallError):
        return error.retriable and error.code != Code.RATE_LIMITED
    return True
