"""A model that is busy for longer than a session lasts: probes, metrics and heartbeats go on, and a burst waits."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pelton.health import SILENT_S

from .asked import Desk, desk
from .conftest import Serve
from .outside import Outside, Record, event
from .prober import Prober, late

BURST = 1280
PATIENCE_S = 90.0


@pytest.fixture(scope="module")
def busy(serve_here: Serve, topic_factory: Callable[..., str], outside: Outside, quick_session: dict[str, int]) -> Desk:
    session = {"session.timeout.ms": quick_session["session.timeout.ms"]}
    return desk(serve_here, topic_factory, outside, kafka=session)


@pytest.mark.parametrize("kind", ["native_s", "python_s"])
@pytest.mark.parametrize("busy_s", [3.0, pytest.param(20.0, marks=pytest.mark.chaos)])
@pytest.mark.timeout(150, func_only=True)
def test_b13_probes_answer_and_heartbeats_go_on_while_the_model_keeps_the_interpreter(
    busy: Desk, outside: Outside, tmp_path: Path, kind: str, busy_s: float
) -> None:
    served = busy.served
    groups = (served.group, busy.group)
    before = [served.pid(), *map(outside.members, groups)]
    with Prober(tmp_path, every_s=0.1) as prober, busy.client(deadline_s=PATIENCE_S) as client:
        prober.watch("busy", served.port)
        (at,) = outside.send(served.source, Record(event(7, **{kind: busy_s})))
        served.eventually(lambda: served.age_s("batch") > 0.2)
        asked = [client.submit({"x": x}) for x in range(BURST)]
        assert [future.result(PATIENCE_S) for future in asked] == [2 * x for x in range(BURST)]
        served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink)[at] == [14.0]
    assert [served.pid(), *map(outside.members, groups)] == before

    answers, stalls = prober.found()
    assert late(answers, stalls) == []
    # While native code keeps the lock nobody can poll, which is not dead, but not ready either after a while.
    may_be_unready = kind == "native_s" and busy_s > SILENT_S
    found = {(answer.probe, answer.status) for answer in answers} - ({("ready", 503)} if may_be_unready else set())
    assert found == {("live", 200), ("ready", 200), ("startup", 200), ("metrics", 200)}
    assert len(answers) > busy_s / 0.1
