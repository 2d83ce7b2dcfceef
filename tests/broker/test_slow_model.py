"""A model that is stuck, or not ready yet."""

import random
import signal

import psutil
import pytest

from .conftest import Serve
from .outside import Hold, Outside, Record, event

SOON_S = 6.0


def test_b05_stuck_model_shows_in_the_lag_and_is_replaced_and_so_is_a_stuck_poll_loop(
    serve: Serve, outside: Outside, hold: Hold
) -> None:
    health, poison = {"stall_s": 1.5}, {"poison_starts": 9}
    served = serve(partitions=4, stream={"static_id": "b05"}, health=health, drain_s=0.5, **poison)
    stuck_pid = served.pid()
    (stuck,) = outside.send(served.source, Record(event(-1, hold=hold.file), partition=0))
    served.eventually(hold.reached)
    sent = outside.send(served.source, *(Record(event(x), partition=x % 4) for x in range(1000)))
    served.eventually(lambda: (served.lag() or 0) > 1000)
    assert served.metric("pelton_lag_records") > 1000
    assert served.health("live")[0] == 200
    (replaced,) = served.eventually(lambda: served.log("worker_hangs"))
    assert replaced["reason"].startswith("the batch in the model has not ended for")
    assert outside.committed(served.group, served.source)[0] == 0
    hold.release()
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {stuck: [-2.0]} | {at: [2.0 * x] for x, at in enumerate(sent)}
    assert not psutil.pid_exists(stuck_pid)

    served.until_ready()
    stopped_pid = served.kill_worker(signal.SIGSTOP)
    (later,) = outside.send(served.source, Record(event(7)))
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink)[later] == [14.0]
    assert not psutil.pid_exists(stopped_pid)
    assert served.log("worker_hangs")[-1]["reason"].startswith("the poll loop has not come round for")


def test_b26_ready_only_after_every_batch_shape_is_warm(serve: Serve, outside: Outside) -> None:
    served = serve("compiling", batch={"max_size": 32, "max_wait_ms": 1}, ready=False)
    served.eventually(lambda: served.states()[-1:] == ["warming"])
    assert served.health("ready") == (503, ["worker 0 is warming"])
    assert served.health("startup")[0] == 503
    assert outside.members(served.group) == set()
    served.until_ready()
    assert {line["rows"] for line in served.log("compiled")} == {1, 2, 4, 8, 16, 32}
    sent = {}
    for size in random.Random(26).sample(range(1, 33), 8):
        places = outside.send(served.source, *(Record(event(x)) for x in range(size)))
        sent |= {at: [2.0 * x] for x, at in enumerate(places)}
        served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == sent
    assert len(served.log("compiled")) == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_b40_model_that_loads_for_minutes_is_live_not_started_in_no_group_and_can_be_stopped(
    serve: Serve, outside: Outside, number: int
) -> None:
    served = serve("loading", ready=False)
    served.eventually(lambda: served.log("loads"))
    served.eventually(lambda: served.states()[-1:] == ["loading"])
    assert served.health("live") == (200, [])
    assert served.health("startup") == served.health("ready") == (503, ["worker 0 is loading"])
    assert outside.members(served.group) == set()
    assert served.stop(number, SOON_S) == 0


def test_b26_model_that_cannot_be_warmed_up_is_never_ready_and_says_why(serve: Serve, outside: Outside) -> None:
    served = serve("unready", ready=False)
    assert served.ended() == 2
    assert "no kernel for this device" in served.log_text()
    assert "ready" not in served.states()
    assert outside.members(served.group) == set()
