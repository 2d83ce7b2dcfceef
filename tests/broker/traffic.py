"""Records sent to a served model, one by one or in a flow, and what must have become of each of them."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .outside import Outside, Position, Record, event
from .served import Served

LOT = 12
PAUSE_S = 0.02


class Traffic:
    """All that a served model with `delivery: exactly-once` is sent, and the check that each has one outcome."""

    def __init__(self, outside: Outside, served: Served, partitions: int) -> None:
        self._outside, self._served, self._partitions = outside, served, partitions
        self._scores: dict[Position, list[float]] = {}
        self._broken: list[Position] = []

    def send(self, *xs: float, partition: int | None = None, **wishes: Any) -> list[Position]:
        """Send a record for each number, round about the partitions or to one, and one that is no JSON."""
        wanted = [x % self._partitions if partition is None else partition for x in xs]
        records = [Record(event(x, **wishes), partition=int(number)) for x, number in zip(xs, wanted, strict=True)]
        torn = Record(b'{"x": ', partition=records[0].partition)
        *places, grave = self._outside.send(self._served.source, *records, torn)
        self._scores |= {at: [2.0 * x] for x, at in zip(xs, places, strict=True)}
        self._broken.append(grave)
        return places

    @contextmanager
    def flowing(self, **wishes: Any) -> Iterator[None]:
        """Send small lots to all partitions, one after the other."""
        over = threading.Event()

        def send() -> None:
            for number in itertools.count():
                if over.wait(PAUSE_S):
                    return
                self.send(*range(number * LOT, (number + 1) * LOT), **wishes)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def check(self, served: Served | None = None, *, repeats: bool = False) -> None:
        """Wait until all is committed, and find one outcome of each record, nothing else, as a committed reader.

        With `repeats` it may be there more than once.
        """
        served = served or self._served
        served.eventually(lambda: self._outside.finished(served.group, served.source))
        found, wanted = self._outside.scores(served.sink), self._scores
        letters = self._outside.letters(served.dead_letter)
        if repeats:
            found, letters = {at: sorted(set(scores)) for at, scores in found.items()}, sorted(set(letters))
        wrong = {at: found.get(at) for at in found.keys() | wanted if found.get(at) != wanted.get(at)}
        assert wrong == {}
        assert letters == sorted(self._broken)
