"""Two workers of one group: slow, killed, stopped, joined by others, while records flow."""

import itertools
import signal

import pytest

from .conftest import Serve
from .outside import Hold, Outside, Record, event
from .served import COMMITS_S, Served
from .traffic import Traffic

PARTITIONS = 4
MOVES = ("partitions_assigned", "partitions_revoked", "partitions_lost")


@pytest.fixture(scope="module")
def pair(serve_here: Serve, quick_session: dict[str, int]) -> Served:
    """Two workers with four partitions between them, missed at once when they are gone."""
    quick = quick_session | {"heartbeat.interval.ms": 50}
    # The wait lets what is sent together become one batch, also on a busy machine.
    batch = {"max_size": 16, "max_wait_ms": 100}
    return serve_here(partitions=PARTITIONS, sink_partitions=2, workers=2, batch=batch, kafka=quick)


@pytest.fixture
def served(pair: Served) -> Served:
    """The two workers, ready, with two partitions each."""
    pair.eventually(lambda: [len(worker["partitions"]) for worker in pair.status()["workers"]] == [2, 2])
    return pair.until_ready()


@pytest.fixture
def traffic(outside: Outside, served: Served) -> Traffic:
    """All that the two workers are sent while the test runs."""
    return Traffic(outside, served, PARTITIONS)


def test_b01_batch_longer_than_the_poll_limit_moves_nobody(
    served: Served, outside: Outside, quick_session: dict[str, int]
) -> None:
    limit_s = quick_session["max.poll.interval.ms"] / 1000
    members, moves, before = outside.members(served.group), served.log(*MOVES), outside.ends(served.source)
    slow = [Record(event(x, sleep_s=2 * limit_s / 5), partition=0) for x in range(5)]
    sent = outside.send(served.source, *slow, **{"linger.ms": 200})  # one request, and so one batch
    (busy,) = served.eventually(lambda: [i for i in (0, 1) if served.age_s("batch", i) > 1.2 * limit_s])
    assert served.age_s("poll", busy) < 1
    assert outside.committed(served.group, served.source) == before
    served.eventually(lambda: outside.finished(served.group, served.source))
    scores = outside.scores(served.sink)
    assert [scores.get(at) for at in sent] == [[2.0 * x] for x in range(5)]
    assert (outside.members(served.group), served.log(*MOVES)) == (members, moves)


def test_b04_killed_in_mid_batch_loses_nothing_and_has_committed_nothing_unfinished(
    served: Served, outside: Outside, hold: Hold
) -> None:
    done = outside.send(served.source, *(Record(event(x), partition=x % PARTITIONS) for x in range(8)))
    served.eventually(lambda: outside.finished(served.group, served.source))
    finished = outside.committed(served.group, served.source)
    held = Record(event(-1, hold=hold.file), partition=0)
    sent = outside.send(served.source, held, *(Record(event(x), partition=0) for x in range(9)))
    served.eventually(hold.reached)
    busy = next(i for i in (0, 1) if served.age_s("batch", i))
    served.eventually(lambda: served.age_s("batch", busy) > COMMITS_S)
    killed = served.kill_worker(index=busy)
    assert outside.committed(served.group, served.source) == finished
    hold.release()
    served.eventually(lambda: outside.finished(served.group, served.source))
    scores = outside.scores(served.sink)
    assert [scores.get(at) for at in sent] == [[-2.0], *([2.0 * x] for x in range(9))]
    assert [scores.get(at) for at in done] == [[2.0 * x] for x in range(8)]
    served.eventually(lambda: served.worker(busy)["pid"] not in {None, killed})


def test_b07_worker_leaves_and_another_joins_and_every_record_is_scored_once(served: Served, traffic: Traffic) -> None:
    with traffic.flowing():
        left = served.kill_worker(signal.SIGTERM, index=1)
        served.eventually(lambda: len(served.worker(0)["partitions"]) == PARTITIONS)
        served.eventually(lambda: len(served.worker(1)["partitions"]) == 2)
        served.eventually(lambda: served.worker(1)["totals"]["scored"] > 50)
    traffic.check()
    assert served.pid(1) != left


def test_b19_a_dozen_rebalances_end_nobody_and_lose_nothing(served: Served, traffic: Traffic) -> None:
    pids, before = [served.pid(0), served.pid(1)], len(served.log(*MOVES))
    rebalances = itertools.takewhile(lambda n: n < 12, (_rebalances_since(served, before) for _ in itertools.count()))
    with traffic.flowing():
        for _ in rebalances:
            served.lend_partitions(**{"partition.assignment.strategy": "cooperative-sticky"})
            served.eventually(lambda: _owned_since(served, before) == 0)
    traffic.check()
    assert [served.pid(0), served.pid(1)] == pids
    assert served.health("ready") == (200, [])


def _rebalances_since(served: Served, before: int) -> int:
    """Return how often the first worker was told a new assignment; each rebalance tells it once."""
    moves = served.log(*MOVES)[before:]
    return sum(move["worker"] == 0 and move["event"] == "partitions_assigned" for move in moves)


def _owned_since(served: Served, before: int) -> int:
    """Return how many partitions more the workers have than before, by their own log."""
    moves = served.log(*MOVES)[before:]
    return sum(len(m["partitions"]) * (1 if m["event"] == "partitions_assigned" else -1) for m in moves)
