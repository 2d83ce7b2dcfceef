"""Ask one question after the other at a rate, and take what becomes of each, in order."""

import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pelton.errors import CallError, CallExpired, PeltonError
from pelton.producers.replay import Pacer
from pelton.producers.threaded_client import CallFuture, RequestReplyClient

MOST_WAITING = 1000
LOOK_S = 0.2
OK = "ok"


@dataclass(slots=True)
class Asked:
    """One call that has ended; `took_s` is from its sending to its end."""

    number: int
    code: str
    answer: Any
    error: str | None
    took_s: float


@dataclass(slots=True)
class Tally:
    """All calls that have ended."""

    codes: Counter[str] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)
    silent: int = 0
    """How many were given up without an answer of any kind."""

    @property
    def n(self) -> int:
        """How many calls have ended."""
        return self.codes.total()

    @property
    def failed(self) -> int:
        """How many of them without a score."""
        return self.n - self.codes[OK]

    def quantile_s(self, rank: float) -> float:
        """Return the time within which that share of the calls ended, failed ones included; 0 without calls."""
        return sorted(self.took_s)[max(0, math.ceil(rank * len(self.took_s)) - 1)] if self.took_s else 0.0


@dataclass(slots=True)
class _Waiting:
    number: int
    began_s: float
    future: CallFuture | None = None
    error: PeltonError | None = None
    ended_s: float = 0.0

    def note_end(self, _future: Any) -> None:
        self.ended_s = time.monotonic()


class Asking:
    """One run of questions through a client, at `rate` a second, or as fast as answers come at 0.

    Up to a thousand questions are on their way at once. A call that fails ends nothing: its error stands in its place.
    """

    def __init__(self, client: RequestReplyClient, deadline_s: float, rate: float = 0.0) -> None:
        self.tally = Tally()
        self._client, self._deadline_s, self._rate = client, deadline_s, rate
        self._waiting: deque[_Waiting] = deque()

    def run(self, questions: Iterable[Any]) -> Iterator[Asked]:
        """Yield what becomes of each question, in order."""
        pacer = Pacer(self._rate, time.monotonic)
        for number, question in enumerate(questions, 1):
            while wait_s := pacer.wait_s():
                time.sleep(min(wait_s, LOOK_S))
                yield from self._ended()
            self._waiting.append(self._ask(number, question))
            yield from self._ended()
            while len(self._waiting) >= MOST_WAITING:
                yield self._outcome(self._waiting.popleft())
        while self._waiting:
            yield self._outcome(self._waiting.popleft())

    def _ask(self, number: int, question: Any) -> _Waiting:
        waiting = _Waiting(number, time.monotonic())
        try:
            waiting.future = self._client.submit(question, deadline_s=self._deadline_s)
            waiting.future.add_done_callback(waiting.note_end)
        except PeltonError as error:
            waiting.error = error
        return waiting

    def _ended(self) -> Iterator[Asked]:
        while self._waiting and (self._waiting[0].future is None or self._waiting[0].future.done()):
            yield self._outcome(self._waiting.popleft())

    def _outcome(self, waiting: _Waiting) -> Asked:
        answer, error = None, waiting.error
        if waiting.future is not None:
            error = waiting.future.exception()  # type: ignore[assignment]
            answer = None if error else waiting.future.result()
        took_s = (waiting.ended_s or time.monotonic()) - waiting.began_s
        code = OK if error is None else error.code if isinstance(error, CallError) else type(error).__name__
        self.tally.codes[code] += 1
        self.tally.silent += isinstance(error, CallExpired) and not error.trace_id  # answers have one
        self.tally.took_s.append(took_s)
        return Asked(waiting.number, code, answer, None if error is None else str(error), took_s)
