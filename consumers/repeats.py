"""Requests seen before: the same question from the same caller is computed once and gets the same answer."""

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

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


@dataclass(slots=True)
class _Entry:
    body: bytes
    first: Call
    at_s: float
    waiting: list[Call] = field(default_factory=list)
    answer: bytes | None = None


_NONE: "OrderedDict[Address, _Entry]" = OrderedDict()


class Repeats:
    """Remembers callers' questions and answers for a while, by the partition they came in; safe from any thread.

    Whoever takes a partition over begins without them: a repeat may then be computed again.
    """

    def __init__(self, window_s: float, most: int) -> None:
        self._window_s, self._most = window_s, most
        self._lock = threading.Lock()
        self._entries: dict[Partition, OrderedDict[Address, _Entry]] = {}
        self._n = 0

    def look(self, call: Call, value: bytes) -> tuple[Seen, bytes | None]:
        """Return what is known of a request, with the answer if there is one; a new one is remembered."""
        address, body = call.address, hashlib.blake2b(value, digest_size=16).digest()
        if address is None:
            return Seen.NEW, None
        with self._lock:
            entries = self._entries.setdefault(call.origin, OrderedDict())
            self._forget_old(entries)
            entry = entries.get(address)
            if entry is None:
                entries[address] = _Entry(body, call, time.monotonic())
                self._n += 1
                return Seen.NEW, None
            if entry.body != body:
                return Seen.OTHER_BODY, None
            if entry.answer is not None:
                return Seen.ANSWERED, entry.answer
            entry.waiting.append(call)
            return Seen.PENDING, None

    def pending(self, call: Call) -> Call | None:
        """Return the call of the same caller and correlation id that is being worked on, if there is one."""
        with self._lock:
            entry = self._of(call)
            return entry.first if entry is not None and entry.answer is None else None

    def answered(self, call: Call, answer: bytes | None) -> list[Call]:
        """Note the answer to a call, or by None that another try may do better; return the repeats that wait for it."""
        with self._lock:
            entry, address = self._of(call), call.address
            if address is None or entry is None or entry.first is not call:
                return []
            if answer is None:
                del self._entries[call.origin][address]
                self._n -= 1
            else:
                entry.answer = answer
            waiting, entry.waiting = entry.waiting, []
            return waiting

    def forget(self, partitions: list[Partition]) -> None:
        """Drop what came in partitions that have left."""
        with self._lock:
            self._n -= sum(len(self._entries.pop(at, ())) for at in partitions)

    def __len__(self) -> int:
        return self._n

    def _of(self, call: Call) -> _Entry | None:
        address = call.address
        return None if address is None else self._entries.get(call.origin, _NONE).get(address)

    def _forget_old(self, entries: "OrderedDict[Address, _Entry]") -> None:
        oldest_s = time.monotonic() - self._window_s
        while entries:
            address, entry = next(iter(entries.items()))
            if entry.answer is None or (entry.at_s > oldest_s and self._n <= self._most):
                return
            del entries[address]
            self._n -= 1
