"""Exactly once while workers are frozen, leave and join, in each form that a rebalance has."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .conftest import FORMS, Serve
from .outside import Hold, Outside
from .served import Served
from .traffic import Traffic, meanwhile

PARTITIONS = 4
VISITS = 3
PROBE_S = 0.1
SLOW_S = 0.003


@pytest.fixture(scope="module")
def pair(serve_here: Serve, quick_form: dict[str, Any]) -> Iterator[Served]:
    """Two workers that share four partitions, with one sink partition for each."""
    topics = {"partitions": PARTITIONS, "sink_partitions": PARTITIONS}
    served = serve_here(**topics, workers=2, batch={"max_size": 16}, delivery="exactly-once", **quick_form)
    yield served
    assert served.stop() == 0


@pytest.fixture(scope="module")
def traffic(outside: Outside, pair: Served) -> Traffic:
    """All that the two workers are sent."""
    return Traffic(outside, pair, PARTITIONS)


@pytest.fixture
def served(pair: Served) -> Served:
    """The two workers, ready, with two partitions each."""
    shared_evenly(pair)
    return pair.until_ready()


def shared_evenly(served: Served) -> None:
    """Wait until each worker has two partitions."""
    served.eventually(lambda: [len(served.owned(index)) for index in (0, 1)] == [2, 2])


def freeze_in_a_transaction(served: Served, outside: Outside, index: int) -> int:
    """Stop a worker that has written, and not told the group yet how far; return its process id."""
    own = served.owned(index)
    while True:
        served.eventually(lambda: outside.open_transactions(served.sink) & own)
        pid = served.kill_worker(signal.SIGSTOP, index)
        if outside.stays_open(served.sink) & own and not outside.offsets_pending(served.group, served.source):
            return pid
        os.kill(pid, signal.SIGCONT)


def wake_when_replaced(served: Served, pid: int, index: int) -> None:
    """Let a frozen worker go on once the other one has its partitions; wait until it has scored again."""
    served.eventually(lambda: len(served.owned(1 - index)) == PARTITIONS)
    os.kill(pid, signal.SIGCONT)
    shared_evenly(served)
    before = served.worker(index)["totals"]["scored"]
    served.eventually(lambda: served.worker(index)["totals"]["scored"] > before)
    assert served.pid(index) == pid


@pytest.mark.parametrize("quick_form", FORMS, indirect=True)
def test_b20_zombie_cannot_commit_its_transaction_and_gets_work_again(
    served: Served, outside: Outside, traffic: Traffic
) -> None:
    told = len(served.log("transaction_aborted", "uncommitted_dropped"))
    with traffic.flowing():
        pid = freeze_in_a_transaction(served, outside, 0)
        wake_when_replaced(served, pid, 0)
    traffic.check()
    assert len(served.log("transaction_aborted", "uncommitted_dropped")) > told


@pytest.mark.parametrize("quick_form", ["cooperative", "consumer"], indirect=True)
def test_b20_zombie_that_wakes_in_mid_batch_adds_no_score(served: Served, traffic: Traffic, hold: Hold) -> None:
    at = min(served.owned(1))
    with traffic.flowing():
        traffic.send(-1, partition=at, hold=hold.file)
        served.eventually(hold.reached)
        pid = served.kill_worker(signal.SIGSTOP, 1)
        hold.release()
        wake_when_replaced(served, pid, 1)
    traffic.check()


@pytest.mark.parametrize("quick_form", ["cooperative", "consumer"], indirect=True)
def test_b17_b19_members_come_and_go_in_mid_batch(served: Served, traffic: Traffic) -> None:
    pids = [served.pid(index) for index in (0, 1)]
    with traffic.flowing(sleep_s=SLOW_S), probing(served, "live", "ready"):
        for _ in range(VISITS):
            served.lend_partitions()
            served.eventually(lambda: sum(len(served.owned(index)) for index in (0, 1)) == PARTITIONS)
    traffic.check()
    assert [served.pid(index) for index in (0, 1)] == pids


@pytest.mark.parametrize("quick_form", ["cooperative", "consumer"], indirect=True)
def test_b07_b17_worker_told_to_end_right_after_it_has_produced(
    served: Served, outside: Outside, traffic: Traffic
) -> None:
    own = served.owned(1)
    with traffic.flowing(), probing(served, "live"):
        served.eventually(lambda: outside.open_transactions(served.sink) & own)
        left = served.kill_worker(signal.SIGTERM, 1)
        served.eventually(lambda: len(served.owned(0)) == PARTITIONS)
    traffic.check()
    served.eventually(lambda: served.pid(1) != left)


@contextmanager
def probing(served: Served, *probes: str) -> Iterator[None]:
    """Ask for a verdict all the time: it may never be no."""
    failed: list[tuple[str, tuple[int, list[str]]]] = []

    def probe() -> None:
        answers = ((name, served.health(name)) for name in probes)
        failed.extend(answer for answer in answers if answer[1][0] != 200)

    with meanwhile(probe, PROBE_S):
        yield
    assert failed == []
