"""Members that come and go while records flow."""

import itertools
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from pelton.deadline import Deadline

from .conftest import Serve
from .outside import Outside, Position, Record, event
from .served import Served

PARTITIONS = 4


class Flow:
    """Sends records of four partitions, small lots at a time, until it is closed."""

    def __init__(self, outside: Outside, topic: str) -> None:
        self.sent: dict[Position, list[float]] = {}
        self._outside, self._topic = outside, topic
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Flow":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _send(self) -> None:
        for number in itertools.count():
            if self._over.wait(0.02):
                return
            xs = range(number * 12, number * 12 + 12)
            places = self._outside.send(self._topic, *(Record(event(x), partition=x % PARTITIONS) for x in xs))
            self.sent |= {at: [2.0 * x] for x, at in zip(xs, places, strict=True)}


@pytest.fixture(scope="module")
def served(serve_here: Serve) -> Served:
    """One worker with four partitions."""
    return serve_here(
        partitions=PARTITIONS, sink_partitions=2, batch={"max_size": 16}, kafka={"heartbeat.interval.ms": 50}
    )


@pytest.fixture
def flow(outside: Outside, served: Served) -> Iterator[Flow]:
    """Records that flow while the test runs."""
    with Flow(outside, served.source) as flow:
        yield flow


def test_b07_second_worker_joins_and_leaves_and_every_record_is_scored_once(
    serve: Serve, outside: Outside, served: Served, flow: Flow
) -> None:
    second = serve(settings=served.settings)
    second.eventually(lambda: len(second.worker()["partitions"]) == 2)
    second.eventually(lambda: second.worker()["totals"]["scored"] > 100)
    assert second.stop() == 0
    served.eventually(lambda: len(served.worker()["partitions"]) == PARTITIONS)
    _check_all_scored_once(outside, served, flow)


def test_b19_twenty_rebalances_end_nobody_and_lose_nothing(outside: Outside, served: Served, flow: Flow) -> None:
    pid, moves = served.pid(), len(served.log("partitions_assigned", "partitions_revoked"))
    for _ in range(10):
        _join_and_leave(served)
    served.eventually(lambda: _owned(served) == PARTITIONS)
    assert len(served.log("partitions_assigned", "partitions_revoked")) >= moves + 20
    _check_all_scored_once(outside, served, flow)
    assert (served.pid(), served.worker()["restarts"]) == (pid, 0)
    assert served.health("ready") == (200, [])


def _owned(served: Served) -> int:
    """Return how many partitions the worker has, by its own log."""
    moves = served.log("partitions_assigned", "partitions_revoked")
    return sum(len(m["partitions"]) * (1 if m["event"] == "partitions_assigned" else -1) for m in moves)


def _join_and_leave(served: Served) -> None:
    """Take partitions away for a moment, without doing anything about them."""
    served.eventually(lambda: _owned(served) == PARTITIONS)
    kafka = served.settings["kafka"]
    properties = {"group.id": served.group, "partition.assignment.strategy": "cooperative-sticky"}
    member = Consumer({**kafka, **properties, "enable.auto.commit": False, "log_level": 0})
    member.subscribe([served.source])
    deadline = Deadline.after(15)
    while not member.assignment():
        assert not deadline.expired, served.log_text()
        member.poll(0.05)
    member.close()


def _check_all_scored_once(outside: Outside, served: Served, flow: Flow) -> None:
    flow.__exit__()
    served.eventually(lambda: outside.finished(served.group, served.source))
    scores = outside.scores(served.sink)
    assert {at: scores.get(at) for at in flow.sent} == flow.sent
