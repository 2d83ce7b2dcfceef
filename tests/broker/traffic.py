"""Records sent to a served model, one by one or in a flow, and what must have become of each of them."""

import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .outside import Outside, Position, Record, event
from .served import Served

LOT = 12
PAUSE_S = 0.02


@contextmanager
def meanwhile(act: Callable[[], object], pause_s: float) -> Iterator[None]:
    """Do something again and again inside the block, with a pause before each time."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(pause_s):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def freeze_in_transaction(served: Served, outside: Outside) -> int:
    """Freeze a worker that has a transaction open which nobody was asked to end; return its pid.

    A broker that dies while it ends one may get wrong how (see DESIGN.md, "Known limits").
    """
    while True:
        served.eventually(lambda: outside.open_transactions(served.sink))
        pid = served.kill_worker(signal.SIGSTOP)
        if outside.stays_open(served.sink):
            return pid
        os.kill(pid, signal.SIGCONT)


class Traffic:
    """All that a served model is sent from now on, and the check that each has one outcome."""

    def __init__(self, outside: Outside, served: Served, partitions: int) -> None:
        self._outside, self._served, self._partitions = outside, served, partitions
        self._from = outside.ends(served.source)
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
        numbers = itertools.count()
        with meanwhile(lambda: self.send(*itertools.islice(numbers, LOT), **wishes), PAUSE_S):
            yield

    def check(self, served: Served | None = None, *, repeats: bool = False) -> None:
        """Wait until all is committed, and find one outcome of each record, nothing else, as a committed reader.

        With `repeats` it may be there more than once.
        """
        served = served or self._served
        served.eventually(lambda: self._outside.finished(served.group, served.source))
        wanted = self._scores
        found = {at: scores for at, scores in self._outside.scores(served.sink).items() if self._is_ours(at)}
        letters = [at for at in self._outside.letters(served.dead_letter) if self._is_ours(at)]
        if repeats:
            found, letters = {at: sorted(set(scores)) for at, scores in found.items()}, sorted(set(letters))
        wrong = {at: found.get(at) for at in found.keys() | wanted if found.get(at) != wanted.get(at)}
        assert wrong == {}
        assert letters == sorted(self._broken)

    def _is_ours(self, at: Position) -> bool:
        return at.offset >= self._from.get(at.partition, 0)
