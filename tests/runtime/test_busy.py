"""For how long a worker is at work: with a fast model, a slow one, and none of either."""

from types import SimpleNamespace
from typing import Any

import pytest

from pelton.busy import Busy
from pelton.progress import Progress


def worker(roads: int = 1) -> Any:
    progress = Progress.null()
    return [SimpleNamespace(progress=progress, intake=SimpleNamespace(idle_s=0.0)) for _ in range(roads)]


@pytest.mark.parametrize(
    ("scored_s", "idle_s", "busy_s"),
    [
        (0.0, 10.0, 0.0),  # nothing comes
        (4.0, 6.0, 4.0),  # it waits between batches
        (4.0, 0.0, 10.0),  # a fast model: the rest is polling and decoding
        (7.0, 9.9, 7.0),  # a slow one: another thread waits for records meanwhile
        (10.0, 10.0, 10.0),
        (0.0, 12.0, 0.0),  # never less than nothing
    ],
)
def test_the_larger_of_both_counts(scored_s: float, idle_s: float, busy_s: float) -> None:
    (road,) = roads = worker()
    busy = Busy(roads)
    assert busy.look(1000.0) == 0.0
    road.progress.batches_s, road.intake.idle_s = scored_s, idle_s
    assert busy.look(1010.0) == pytest.approx(busy_s)
    road.progress.batches_s, road.intake.idle_s = 2 * scored_s, 2 * idle_s
    assert busy.look(1020.0) == pytest.approx(2 * busy_s)


def test_a_batch_that_has_not_ended_counts_as_it_goes() -> None:
    (road,) = roads = worker()
    busy = Busy(roads)
    busy.look(1000.0)
    road.progress.batch_started_s, road.intake.idle_s = 1002.0, 10.0
    assert busy.look(1010.0) == pytest.approx(8.0)
    road.progress.batch_started_s, road.progress.batches_s, road.intake.idle_s = 0.0, 13.0, 20.0
    assert busy.look(1020.0) == pytest.approx(13.0)


def test_of_two_roads_one_that_waits_does_not_make_the_worker_idle() -> None:
    stream, asked = roads = worker(2)
    busy = Busy(roads)
    busy.look(1000.0)
    stream.intake.idle_s, asked.intake.idle_s = 1.0, 10.0
    assert busy.look(1010.0) == pytest.approx(9.0)


def test_progress_adds_batches_up() -> None:
    progress = Progress.null()
    for _ in range(2):
        began_s = progress.begin_batch()
        assert progress.batch_started_s == began_s > 0
        ended_s = progress.end_batch()
        assert (progress.batch_started_s, progress.batch_finished_s) == (0, ended_s)
    assert 0 < progress.batches_s < 1
