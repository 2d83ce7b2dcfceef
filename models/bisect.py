"""Scoring a batch apart, until every record has a score or stands alone as the one at fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pelton.errors import DeviceLost, OutOfMemory
from pelton.models.ceiling import Ceiling
from pelton.models.device import release_memory
from pelton.models.failure import Failure, FailureKind
from pelton.models.shapes import Shapes
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection

Run = Callable[[Sequence[Any], int], list[Any] | Failure]

MAX_LONE_MISSES = 3


@dataclass(frozen=True, slots=True)
class _Piece:
    rows: Sequence[int]
    attempts: int


class LoneMisses:
    """Different records in a row that found no memory even alone; three mean that the device is at fault."""

    def __init__(self) -> None:
        self._count = 0
        self._last: Any = None

    def add(self, event: Any, reason: str) -> None:
        """Note one more. Raises OutOfMemory at the third."""
        if not self._count or event != self._last:
            self._count, self._last = self._count + 1, event
        if self._count >= MAX_LONE_MISSES:
            raise OutOfMemory(f"{self._count} records in a row found no memory, each in a batch of one: {reason}")

    def reset(self) -> None:
        """Note that a batch found memory."""
        self._count, self._last = 0, None


class Bisection:
    """One batch on its way: pieces still to score, and what came of the others."""

    def __init__(self, run: Run, shapes: Shapes, ceiling: Ceiling, misses: LoneMisses) -> None:
        self._run, self._shapes, self._ceiling, self._misses = run, shapes, ceiling, misses
        self._limit_before = ceiling.limit
        self.first_failure: Failure | None = None
        """The first thing that went wrong, None if nothing did."""
        self.at_fault: list[int] = []
        """Places in the batch of the records that were rejected."""

    def score(self, events: Sequence[Any]) -> list[Any]:
        """Return a score or a Rejection for every event, in order.

        Raises ModelError, OutOfMemory or DeviceLost if the batch as a whole cannot be scored.
        """
        self._events = events
        self._results: list[Any] = [None] * len(events)
        self._todo = [_Piece(range(len(events)), 0)]
        while self._todo:
            piece = self._todo.pop()
            most = self._shapes.fitting(self._ceiling.limit)
            if len(piece.rows) > most:
                self._split(piece, most)
                continue
            whole = len(piece.rows) == len(events)
            outcome = self._run(events if whole else [events[row] for row in piece.rows], piece.attempts + 1)
            if isinstance(outcome, list):
                self._keep(piece, outcome, full=len(piece.rows) == most)
            else:
                self._take_apart(piece, outcome)
        return self._results

    def _keep(self, piece: _Piece, scores: list[Any], *, full: bool) -> None:
        self._misses.reset()
        self._ceiling.passed(full=full)
        if len(scores) == len(self._results):
            self._results = scores
            return
        for row, score in zip(piece.rows, scores, strict=True):
            self._results[row] = score

    def _take_apart(self, piece: _Piece, failure: Failure) -> None:
        self.first_failure = self.first_failure or failure
        if failure.kind is FailureKind.DEVICE_LOST:
            raise DeviceLost(failure.reason)
        if failure.kind is FailureKind.OUT_OF_MEMORY:
            self._make_room(piece, failure)
        if failure.kind is FailureKind.NOT_FINITE:
            self._without_culprits(piece, failure)
        elif len(piece.rows) == 1:
            self._reject(piece.rows[0], piece, failure, failure.reason)
        else:
            self._split(_Piece(piece.rows, piece.attempts + 1), (len(piece.rows) + 1) // 2)

    def _make_room(self, piece: _Piece, failure: Failure) -> None:
        release_memory()
        if len(piece.rows) == 1:
            self._misses.add(self._events[piece.rows[0]], failure.reason)
            self._ceiling.restore(self._limit_before)
        elif not self._shapes.fixed:
            self._ceiling.lower(self._shapes.padded(len(piece.rows)))

    def _without_culprits(self, piece: _Piece, failure: Failure) -> None:
        for index, reason in failure.rows.items():
            self._reject(piece.rows[index], piece, failure, reason)
        rest = [row for index, row in enumerate(piece.rows) if index not in failure.rows]
        if rest:
            self._todo.append(_Piece(rest, piece.attempts + 1))

    def _split(self, piece: _Piece, size: int) -> None:
        parts = [_Piece(piece.rows[i : i + size], piece.attempts) for i in range(0, len(piece.rows), size)]
        self._todo += reversed(parts)

    def _reject(self, row: int, piece: _Piece, failure: Failure, reason: str) -> None:
        code = Code.NOT_FINITE if failure.kind is FailureKind.NOT_FINITE else Code.MODEL_ERROR
        self.at_fault.append(row)
        self._results[row] = Rejection(code, reason, failure.stage, failure.exception, piece.attempts + 1)
