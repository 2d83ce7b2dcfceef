"""A model that is slow, stuck, or not ready yet."""

import os
import random
import signal
from pathlib import Path

from .conftest import Serve
from .outside import Outside, Record, event

MOVES = ("partitions_assigned", "partitions_revoked", "partitions_lost")


def test_b01_batch_longer_than_the_poll_limit_moves_nobody(
    serve: Serve, outside: Outside, quick_session: dict[str, int]
) -> None:
    limit_s = quick_session["max.poll.interval.ms"] / 1000
    served = serve(workers=2, kafka=quick_session)
    served.eventually(lambda: len(outside.members(served.group)) == 2)
    served.eventually(lambda: sum(len(worker["partitions"]) for worker in served.status()["workers"]) == 1)
    members = outside.members(served.group)
    sent = outside.send(served.source, *(Record(event(x, sleep_s=2 * limit_s / 5)) for x in range(5)))
    served.eventually(lambda: any(served.age_s("batch", i) for i in (0, 1)))
    moves = served.log(*MOVES)
    busy = served.eventually(lambda: [i for i in (0, 1) if served.age_s("batch", i) > 1.2 * limit_s])[0]
    assert served.age_s("poll", busy) < 1
    assert outside.committed(served.group, served.source) == {0: 0}
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {at: [2.0 * x] for x, at in enumerate(sent)}
    assert outside.members(served.group) == members
    assert served.log(*MOVES) == moves
    assert [worker["restarts"] for worker in served.status()["workers"]] == [0, 0]


def test_b05_stuck_model_is_replaced_and_its_lag_shows(serve: Serve, outside: Outside, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    served = serve(
        partitions=4,
        stream={"static_id": "b05"},
        health={"stall_s": 1.5},
        drain_s=0.5,
        poison_starts=9,
        batch={"max_size": 64},
    )
    pid = served.pid()
    (stuck,) = outside.send(served.source, Record(event(-1, hold=str(hold)), partition=0))
    served.eventually(Path(f"{hold}.reached").exists)
    sent = outside.send(served.source, *(Record(event(x), partition=x % 4) for x in range(1000)))
    served.eventually(lambda: (served.lag() or 0) >= 1000)
    assert served.metric("pelton_lag_records") >= 1000
    assert served.health("live")[0] == 200
    served.eventually(lambda: served.health("live")[0] == 503)
    assert "the batch in the model has not ended" in served.health("live")[1][0]
    assert "replacing it did not help" in served.health("live")[1][0]
    assert outside.committed(served.group, served.source)[0] == 0
    hold.unlink()
    served.eventually(lambda: outside.finished(served.group, served.source))
    served.eventually(lambda: served.health("live")[0] == 200)
    assert served.pid() != pid
    assert outside.scores(served.sink) == {stuck: [-2.0]} | {at: [2.0 * x] for x, at in enumerate(sent)}

    stopped = served.kill_worker(signal.SIGSTOP)
    (later,) = outside.send(served.source, Record(event(7)))
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink)[later] == [14.0]
    assert not _is_alive(stopped)
    assert "the poll loop has not come round" in served.log("worker_hangs")[-1]["reason"]


def test_b26_ready_only_after_every_batch_shape_is_warm(serve: Serve, outside: Outside) -> None:
    served = serve("compiling", batch={"max_size": 32, "max_wait_ms": 1}, ready=False)
    served.eventually(lambda: served.states()[-1] == "warming" if served.states() else False)
    assert served.health("ready")[1] == ["worker 0 is warming"]
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


def test_b26_model_that_cannot_be_warmed_up_is_never_ready_and_says_why(serve: Serve, outside: Outside) -> None:
    served = serve("unready", ready=False)
    assert served.ended() == 2
    assert "no kernel for this device" in served.log_text()
    assert "ready" not in served.states()
    assert outside.members(served.group) == set()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
