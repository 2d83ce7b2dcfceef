"""Requests seen before: the same question from the same caller is computed once and gets the same answer."""

import hashlib
import threading
import time
from collections import OrderedDict
from enum import StrEnum

import msgspec

from pelton.consumers.assignment import Partition
from pelton.consumers.calls import Address, Call


class Seen(StrEnum):
    """What is known of a request that has just come."""

    NEW = "new"
    PENDING = "pending"
    """The same is being worked on: its answer is this one's too."""
    ANSWERED = "answered"
    OTHER_BODY = "other_body"
    """The same caller has used the same correlation id for another question."""


class _Pending(msgspec.Struct, frozen=True, eq=False):
    body: bytes
    first: Call
    waiting: list[Call] = []


class _Answered(msgspec.Struct, frozen=True, eq=False):
    body: bytes
    answer: bytes
    until_s: float


_Place = tuple[Partition, Address]


class Repeats:
    """Remembers callers' questions and answers for a while, by the partition they came in; safe from any thread.

    Whoever takes a partition over begins without them: a repeat may then be computed again.
    """

    def __init__(self, window_s: float, most: int, most_bytes: int) -> None:
        self._window_s, self._most, self._most_bytes = window_s, most, most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._pending: dict[_Place, _Pending] = {}
        self._answered: OrderedDict[_Place, _Answered] = OrderedDict()

    def look(self, call: Call, value: bytes) -> tuple[Seen, bytes | None]:
        """Return what is known of a request, with the answer if there is one; a new one is remembered."""
        place, body = _place(call), hashlib.blake2b(value, digest_size=16).digest()
        if place is None:
            return Seen.NEW, None
        with self._lock:
            self._forget_old()
            known = self._pending.get(place) or self._answered.get(place)
            if known is None:
                self._pending[place] = _Pending(body, call)
                return Seen.NEW, None
            if known.body != body:
                return Seen.OTHER_BODY, None
            if isinstance(known, _Answered):
                return Seen.ANSWERED, known.answer
            known.waiting.append(call)
            # Somebody waits again, and perhaps for longer.
            known.first.cancelled = False
            known.first.deadline_s = max(known.first.deadline_s, call.deadline_s)
            return Seen.PENDING, None

    def pending(self, call: Call) -> Call | None:
        """Return the call of the same caller and correlation id that is being worked on, if there is one."""
        with self._lock:
            known = self._pending.get(place) if (place := _place(call)) else None
            return known.first if known else None

    def answered(self, call: Call, answer: bytes | None) -> list[Call]:
        """Note the answer to a call, or by None that another try may do better; return the repeats that wait for it."""
        place = _place(call)
        with self._lock:
            known = self._pending.get(place) if place else None
            if place is None or known is None or known.first is not call:
                return []
            del self._pending[place]
            if answer is not None:
                self._answered[place] = _Answered(known.body, answer, time.monotonic() + self._window_s)
                self._bytes += _weight(place, answer)
            return known.waiting

    def forget(self, partitions: list[Partition]) -> None:
        """Drop what came in partitions that have left."""
        gone = set(partitions)
        with self._lock:
            for places in (self._pending, self._answered):
                for place in [place for place in places if place[0] in gone]:
                    del places[place]
            self._bytes = sum(_weight(place, answered.answer) for place, answered in self._answered.items())

    def __len__(self) -> int:
        return len(self._pending) + len(self._answered)

    def _forget_old(self) -> None:
        now_s = time.monotonic()
        while self._answered:
            oldest = next(iter(self._answered.values()))
            full = len(self._answered) > self._most or self._bytes > self._most_bytes
            if oldest.until_s > now_s and not full:
                return
            place, answered = self._answered.popitem(last=False)
            self._bytes -= _weight(place, answered.answer)


def _place(call: Call) -> _Place | None:
    address = call.address
    return None if address is None else (call.origin, address)


def _weight(place: _Place, answer: bytes) -> int:
    return len(place[1][0]) + len(answer)
