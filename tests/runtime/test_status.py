"""What `/status` says of a worker that says nothing any more."""

import time

import pytest

from pelton.health import WorkerView
from pelton.partition_status import LagStatus, PartitionStatus
from pelton.reports import StatusReport
from pelton.states import LagState, WorkerState
from pelton.status import _lag

TOLD = LagStatus(LagState.WARN, "in/0: the lag never shrank")


@pytest.mark.parametrize(
    ("silent_s", "lag", "verdict", "reason"),
    [
        (1.0, 5, "warn", "in/0: the lag never shrank"),
        (15.0, 5, "stop", "the poll loop has been silent for 15 s"),
        (15.0, 0, "warn", "in/0: the lag never shrank"),
        (15.0, None, "warn", "in/0: the lag never shrank"),
    ],
)
def test_b05_a_frozen_worker_with_records_left_has_stopped(
    silent_s: float, lag: int | None, verdict: str, reason: str
) -> None:
    now_s = time.monotonic()
    view = WorkerView(0, WorkerState.READY, poll_beat_s=now_s - silent_s)
    status = StatusReport(lag=TOLD, partitions=[PartitionStatus("in", 0, lag=lag)])
    assert _lag(view, status, now_s) == {"verdict": verdict, "reason": reason, "unready": ""}
