"""The calls that wait for an answer, by id and by when something is to be done about them."""

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from pelton.schemas.request import Headers

TICK_S = 0.01


class Step(Enum):
    """What a call is due for next."""

    EXPIRE = auto()
    REPEAT = auto()
    SILENCE = auto()
    HEDGE = auto()


@dataclass(slots=True, eq=False)
class Call:
    """One request without an answer so far. Times are on the monotonic clock."""

    id: bytes
    value: bytes
    key: bytes
    headers: Headers
    began_s: float
    until_s: float
    waiter: Any
    """Whoever is told in the end; opaque here."""
    partition: int = -1
    """Partition it is sent to, -1 where its key decides."""
    repeats: int = 0
    hedged_to: int | None = None
    admission: Any = None
    step: Step = Step.EXPIRE
    tick: int = field(default=-1, repr=False)


class CallIds:
    """Ids that no other client has, nor this one after a restart: 10 random bytes for all, 6 that count on."""

    def __init__(self) -> None:
        self._own = os.urandom(10)
        self._numbers = itertools.count(int.from_bytes(os.urandom(5)))

    def new(self) -> bytes:
        """Return an id of 16 bytes."""
        return self._own + next(self._numbers).to_bytes(6)

    def owns(self, call_id: bytes) -> bool:
        """Tell whether an id was made here."""
        return call_id.startswith(self._own)


class PendingCalls:
    """A map of calls and a wheel of what is due, in ticks of 10 ms; from any thread.

    Whoever takes a call out with `pop` is the one that ends it: nobody else can.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: dict[bytes, Call] = {}
        self._wheel: dict[int, set[Call]] = {}
        self._turned = self._tick(clock()) - 1

    def __len__(self) -> int:
        return len(self._calls)

    def get(self, call_id: bytes) -> Call | None:
        """Return a call that still waits."""
        return self._calls.get(call_id)

    def add(self, call: Call, due_s: float, step: Step) -> None:
        """Let a call wait for its answer, and for `step` at `due_s`."""
        with self._lock:
            self._calls[call.id] = call
            self._put(call, due_s, step)

    def put_off(self, call: Call, due_s: float, step: Step) -> bool:
        """Set what a call is due for next; tells whether it still waits."""
        with self._lock:
            waits = call.id in self._calls
            if waits:
                self._take(call)
                self._put(call, due_s, step)
            return waits

    def pop(self, call: Call) -> bool:
        """Take a call out; tells whether it was there."""
        with self._lock:
            if self._calls.pop(call.id, None) is None:
                return False
            self._take(call)
            return True

    def pop_all(self) -> list[Call]:
        """Take all calls out."""
        with self._lock:
            calls = list(self._calls.values())
            self._calls.clear()
            self._wheel.clear()
            return calls

    def due(self) -> Iterator[Call]:
        """Yield the calls whose time for their next step has come."""
        now = self._tick(self._clock())
        for tick in self._ticks(now):
            with self._lock:
                calls = self._wheel.pop(tick, ())
            yield from calls

    def _ticks(self, now: int) -> Iterator[int]:
        """Yield the ticks since the last turn; after a long sleep only those where something waits."""
        with self._lock:
            passed = range(self._turned + 1, now + 1)
            self._turned = now
            ticks = sorted(tick for tick in self._wheel if tick <= now) if len(passed) > len(self._wheel) else passed
        yield from ticks

    def _put(self, call: Call, due_s: float, step: Step) -> None:
        call.step = step
        # Rounded up, so that nothing is early; and never into a tick that has been looked at already.
        call.tick = max(self._tick(due_s) + 1, self._turned + 1)
        self._wheel.setdefault(call.tick, set()).add(call)

    def _take(self, call: Call) -> None:
        if calls := self._wheel.get(call.tick):
            calls.discard(call)
            if not calls:
                del self._wheel[call.tick]

    def _tick(self, moment_s: float) -> int:
        return int(moment_s / TICK_S)
