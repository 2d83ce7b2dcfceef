"""What `/status` shows, as JSON-ready dictionaries."""

import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from pelton.health import CRASH_LOOP, WorkerView, silent_s
from pelton.keeper import Keeper
from pelton.reports import StatusReport
from pelton.states import LagState
from pelton.totals import COUNTS


def describe_worker(keeper: Keeper) -> dict[str, Any]:
    """Return one worker: its state and why, its process, model, partitions and rates."""
    view, status, now_s = keeper.view(), keeper.status, time.monotonic()
    return {
        "worker": view.index,
        "state": view.state.value,
        "reason": view.reason,
        "since": _wall_clock(view.since_s, now_s),
        "pid": keeper.pid,
        "restarts": keeper.restarts,
        "deaths_in_a_row": view.deaths,
        "crash_loop": view.deaths >= CRASH_LOOP,
        "model": {"name": status.model, "version": status.version, "device": status.device},
        "startup_s": status.startup_s,
        "totals": {name: getattr(status, name) for name in COUNTS},
        "per_s": keeper.rates.per_s(),
        "in_flight": status.in_flight,
        "sink": {
            "state": "failing" if status.sink_attempts or status.sink_failing_s or status.sink_reason else "ok",
            "reason": status.sink_reason,
            "attempts": status.sink_attempts,
            "failing_s": status.sink_failing_s,
        },
        "ages_s": {
            "poll": _age_s(view.poll_beat_s, now_s),
            "batch": _age_s(view.batch_started_s, now_s),
            "oldest_unfinished": _age_s(view.oldest_unfinished_s, now_s),
        },
        "lag": _lag(view, status, now_s),
        "partitions": msgspec.to_builtins(status.partitions),
    }


def _lag(view: WorkerView, status: StatusReport, now_s: float) -> dict[str, Any]:
    """Return the worker's verdict on its lag; one that is frozen says nothing new, and no sample is a stop."""
    told: dict[str, Any] = msgspec.to_builtins(status.lag)
    silent = silent_s(view, now_s)
    if silent and any(each.lag for each in status.partitions):
        told |= {"verdict": LagState.STOP.value, "reason": f"the poll loop has been silent for {silent:.0f} s"}
    return told


def _wall_clock(monotonic_s: float, now_s: float) -> str:
    at = datetime.now(UTC).timestamp() - (now_s - monotonic_s)
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _age_s(stamp_s: float, now_s: float) -> float | None:
    return round(max(0.0, now_s - stamp_s), 3) if stamp_s else None
