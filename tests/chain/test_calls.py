"""Many callers and two scorers, of which some are killed: every call ends in time, and well or with a typed error."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pelton.producers.call_errors import ERRORS
from tests.broker.asked import desk
from tests.broker.conftest import Serve
from tests.broker.outside import Outside
from tests.broker.served import Served, eventually

CALLERS = 4
APART = 1_000_000
MOST_GROWTH_MIB = 24.0
TYPED = {"right", "CircuitOpen", "BrokerUnavailable", *(error.__name__ for error in ERRORS.values())}
ROOT = Path(__file__).parents[2]


class Caller:
    """A process that asks; see `caller.py`."""

    def __init__(self, stack: ExitStack, folder: Path, *arguments: object) -> None:
        self._arguments, self._stack, self._folder = arguments, stack, folder
        *_, first, n, _rate = arguments
        self.n = int(str(n))
        self._file = folder / f"caller-{first}.txt"
        command = [sys.executable, "-m", "tests.chain.caller", *map(str, arguments)]
        with self._file.open("wb") as said:
            self.process = subprocess.Popen(command, stdout=said, cwd=ROOT)
        stack.callback(self.kill)

    def lines(self) -> list[str]:
        """Return what it has said."""
        return self._file.read_text().splitlines()

    def has_asked(self, share: float) -> bool:
        """Tell whether it has sent so much of its calls."""
        asked = [int(line) for line in self.lines() if line.isdecimal()]
        return bool(asked) and asked[-1] >= share * self.n

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def again(self) -> "Caller":
        """Start one like it with numbers of its own: an answer to the one before is recognised."""
        *where, first, n, rate = self._arguments
        return Caller(self._stack, self._folder, *where, int(str(first)) + CALLERS * APART, n, rate)

    def report(self) -> dict[str, Any]:
        """Wait for its end, and return what became of its calls."""
        assert self.process.wait(60) == 0
        return dict(json.loads(self.lines()[-1]))


@pytest.fixture
def callers(tmp_path: Path) -> Iterator[Callable[..., list[Caller]]]:
    with ExitStack() as stack:
        yield lambda *where, n, rate: [
            Caller(stack, tmp_path, *where, number * APART, n, rate) for number in range(CALLERS)
        ]


@pytest.mark.parametrize(
    ("n", "rate", "kills"),
    [
        pytest.param(250, 50.0, 1, marks=pytest.mark.timeout(90, func_only=True)),
        pytest.param(2500, 100.0, 3, marks=[pytest.mark.chaos, pytest.mark.timeout(240, func_only=True)]),
    ],
    ids=["thousand", "ten thousand"],
)
def test_b35_b37_every_call_ends_well_or_by_its_deadline_while_scorers_and_callers_die(
    serve: Serve,
    outside: Outside,
    topic_factory: Callable[..., str],
    callers: Callable[..., list[Caller]],
    quick_session: dict[str, int],
    record_property: Callable[[str, object], None],
    n: int,
    rate: float,
    kills: int,
) -> None:
    asked = desk(serve, topic_factory, outside, request_partitions=4, kafka=quick_session)
    scorers = [asked.served, serve(settings=asked.served.settings)]
    eventually(lambda: len(outside.members(asked.group)) == 2)
    asking = callers(outside.brokers, asked.requests, asked.replies, n=n, rate=rate)
    for number in range(kills):
        share = (number + 1) / (kills + 2)
        _kill_one_of_each(scorers[number % 2], asking, number, share)
    found = [caller.report() for caller in asking]
    ends: Counter[str] = sum((Counter(each["ends"]) for each in found), Counter())
    record_property("calls", dict(ends))
    assert [each["wrong"] for each in found] == [[]] * CALLERS
    assert [each["counts"]["pending"] for each in found] == [0] * CALLERS
    # Each keeps all its futures to the end: about 2 KB a call.
    assert all(each["grown_mib"] < MOST_GROWTH_MIB for each in found)
    assert ends.total() == CALLERS * n
    assert ends.keys() <= TYPED
    assert ends["right"] >= 0.5 * CALLERS * n
    scorers[0].eventually(lambda: outside.finished(asked.group, asked.requests))


def _kill_one_of_each(scorer: Served, asking: list[Caller], number: int, share: float) -> None:
    """Kill a scorer's process and a caller in the middle of their work; each comes back."""
    eventually(lambda: all(caller.has_asked(share) for caller in asking[1:]))
    scorer.eventually(lambda: scorer.metric("pelton_answers_total") > 0)
    scorer.kill_worker()
    victim = asking[number % CALLERS]
    victim.kill()
    assert victim.lines()
    asking[number % CALLERS] = victim.again()
