"""Workers that are killed, and workers that are told to stop."""

import signal
from pathlib import Path

import psutil
import pytest

from .conftest import Serve
from .outside import Outside, Record, event
from .served import Served, eventually


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """A file that holds the model for as long as it exists."""
    file = tmp_path / "hold"
    file.touch()
    return file


def reached(hold: Path) -> bool:
    """Tell whether the model is held."""
    return Path(f"{hold}.reached").exists()


def test_b04_killed_in_mid_batch_loses_nothing_and_has_committed_nothing_unfinished(
    serve: Serve, outside: Outside, quick_session: dict[str, int], hold: Path
) -> None:
    served = serve(partitions=2, kafka=quick_session)
    outside.send(served.source, *(Record(event(x), partition=x % 2) for x in range(6)))
    served.eventually(lambda: outside.finished(served.group, served.source))
    records = [
        Record(event(6, hold=str(hold)), partition=0),
        *(Record(event(x), partition=x % 2) for x in range(7, 20)),
    ]
    outside.send(served.source, *records)
    served.eventually(lambda: reached(hold))
    killed = served.kill_worker()
    assert outside.committed(served.group, served.source) == {0: 3, 1: 3}
    hold.unlink()
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert served.pid() != killed
    assert sorted(score for scores in outside.scores(served.sink).values() for score in scores) == [
        2.0 * x for x in range(20)
    ]
    last = served.pid()
    served.process.kill()
    eventually(lambda: not psutil.pid_exists(last), within_s=5)


def test_b10_stopped_in_mid_batch_finishes_it_commits_leaves_and_a_restart_completes_the_rest(
    serve: Serve, outside: Outside, hold: Path
) -> None:
    served = serve(drain_s=10, batch={"max_size": 32})
    records = [Record(event(x, hold=str(hold))) if x == 5 else Record(event(x)) for x in range(100)]
    sent = outside.send(served.source, *records)
    served.eventually(lambda: reached(hold))
    served.tell(signal.SIGTERM)
    served.eventually(lambda: served.health("ready")[0] != 200, within_s=1)
    assert served.health("live")[0] == 200
    hold.unlink()
    assert served.ended(within_s=9) == 0
    done = outside.committed(served.group, served.source)[0]
    assert done > 5
    assert sorted(outside.scores(served.sink)) == sent[:done]
    assert outside.members(served.group) == set()
    assert "Traceback" not in served.log_text()

    again = serve(settings=served.settings)
    again.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {at: [2.0 * x] for x, at in enumerate(sent)}
    _stopped_twice(again, outside, hold)


def _stopped_twice(served: Served, outside: Outside, hold: Path) -> None:
    """Nothing of a batch that does not end is committed, and nobody waits for it after a second signal."""
    hold.touch()
    Path(f"{hold}.reached").unlink()
    (stuck,) = outside.send(served.source, Record(event(1, hold=str(hold))))
    served.eventually(lambda: reached(hold))
    served.tell(signal.SIGTERM)
    served.eventually(lambda: bool(served.log("draining")))
    assert served.stop(signal.SIGTERM, within_s=4) == 1
    assert outside.committed(served.group, served.source) == {0: stuck.offset}
    assert stuck not in outside.scores(served.sink)
