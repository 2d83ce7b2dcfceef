"""Two processes with one identity: one of them ends, says why, and stays away."""

from pathlib import Path
from typing import Any

import pytest

from .conftest import Serve
from .outside import Outside
from .served import SERVE, Served
from .traffic import Traffic

EXIT_FENCED = 4


def twin(serve: Serve, served: Served, **options: Any) -> Served:
    """Start a second process with the same settings."""
    return serve(settings=served.settings, ready=False, **options)


def check_gave_way(served: Served, reason: str) -> None:
    """Find that it ended once, and said why; nobody started it again."""
    assert served.ended(20) == EXIT_FENCED
    (fenced,) = served.log("worker_fenced")
    assert reason in fenced["reason"]
    assert "`replica` and `stream.static_id`" in fenced["reason"]
    assert served.states().count("starting") == 1
    (last,) = served.log("fenced")
    assert last["reason"] == fenced["reason"]


def test_b60_same_transactional_id_twice_ends_one_of_them(serve: Serve, outside: Outside, tmp_path: Path) -> None:
    first = serve(partitions=2, sink_partitions=2, delivery="exactly-once", replica="copied")
    traffic = Traffic(outside, first, 2)
    with traffic.flowing():
        # As on another host: who else has the place is not seen.
        second = twin(serve, first, command=["env", f"TMPDIR={tmp_path}", *SERVE]).until_ready()
        check_gave_way(first, "another process took the transactional id")
    traffic.check(second)
    assert second.health("ready") == (200, [])


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_b60_same_instance_id_twice_ends_one_of_them(serve: Serve, outside: Outside, delivery: str) -> None:
    first = serve(partitions=2, sink_partitions=2, delivery=delivery, stream={"static_id": "copied"})
    traffic = Traffic(outside, first, 2)
    with traffic.flowing():
        second = twin(serve, first)
        check_gave_way(first, "fenced by other consumer with same group.instance.id")
    traffic.check(second, repeats=delivery == "at-least-once")
    assert second.health("ready") == (200, [])
