"""Members with a name of their own: gone for a moment, and the same name twice, in both protocols."""

import os
import signal

import pytest

from .conftest import Serve
from .outside import Outside
from .served import Served
from .test_fenced import twin
from .traffic import Traffic

PARTITIONS = 4
LONG_MS = 120_000


def moves(served: Served, index: int) -> list[dict[str, object]]:
    """Return what a worker logged about partitions that came and went."""
    names = ("partitions_assigned", "partitions_revoked", "partitions_lost")
    return [line for line in served.log(*names) if line["worker"] == index]


def test_b60_static_member_back_within_its_session_has_its_partitions_and_moves_nobody(
    serve: Serve, outside: Outside
) -> None:
    topics = {"partitions": PARTITIONS, "sink_partitions": PARTITIONS}
    session = {"session.timeout.ms": LONG_MS, "max.poll.interval.ms": LONG_MS}
    served = serve(**topics, workers=2, delivery="exactly-once", stream={"static_id": "seat"}, kafka=session)
    served.eventually(lambda: [len(served.owned(index)) for index in (0, 1)] == [2, 2])
    traffic = Traffic(outside, served, PARTITIONS)
    had, before = served.owned(1), moves(served, 0)
    with traffic.flowing():
        killed = served.kill_worker(index=1)
        served.eventually(lambda: served.owned(1) == had and served.worker(1)["pid"] not in {None, killed})
    traffic.check()
    assert moves(served, 0) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.chaos)])
def test_b60_pod_back_within_its_session_has_its_partitions_and_moves_nobody(
    serve: Serve, outside: Outside, number: int
) -> None:
    """A pod is the whole of `pelton serve`: told to end, or killed with its worker, and started again."""
    session = {"session.timeout.ms": LONG_MS, "max.poll.interval.ms": LONG_MS}
    topics = {"partitions": PARTITIONS, "sink_partitions": PARTITIONS}
    stays = serve(**topics, delivery="exactly-once", stream={"static_id": "pod-0"}, kafka=session)
    moved = stays.settings | {"stream": stays.settings["stream"] | {"static_id": "pod-1"}}
    gone = serve(settings=moved)
    stays.eventually(lambda: [len(each.owned()) for each in (stays, gone)] == [2, 2])
    traffic = Traffic(outside, stays, PARTITIONS)
    had, before = gone.owned(), moves(stays, 0)
    with traffic.flowing():
        gone.tell(number)
        gone.ended()
        back = serve(settings=moved)
        back.eventually(lambda: back.owned() == had)
    traffic.check()
    assert moves(stays, 0) == before


def test_b60_new_protocol_lets_the_second_of_a_name_wait_for_the_first(
    serve: Serve, outside: Outside, group_name: str
) -> None:
    outside.configure_group(group_name, session_timeout_ms=1500, heartbeat_interval_ms=200)
    stream = {"static_id": "copied", "group": group_name}
    first = serve(partitions=2, delivery="exactly-once", stream=stream, kafka={"group.protocol": "consumer"})
    traffic = Traffic(outside, first, 2)
    second = twin(serve, first)
    with traffic.flowing():
        waits_for_its_name(second)
        frozen = first.kill_worker(signal.SIGSTOP)
        second.until_ready()
        os.kill(frozen, signal.SIGCONT)
        waits_for_its_name(first)
    traffic.check(second)
    assert [served.worker()["restarts"] for served in (first, second)] == [0, 0]


def waits_for_its_name(served: Served) -> None:
    """Wait until it is not ready, because another process has its name."""
    served.eventually(lambda: "instance ID is still used by another member" in " ".join(served.health("ready")[1]))
