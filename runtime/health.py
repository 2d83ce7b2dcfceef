"""The three verdicts a supervisor gives: started, live, ready. Pure functions over snapshots.

**Started**: every worker has loaded and warmed its model once. A broker that is away does not
count against it, so that a startup probe never kills a pod for somebody else's outage.

**Live**: the supervisor can keep its workers making progress. A worker whose poll loop or batch has
stood still for `stall_s` is replaced; only when its replacement hangs as well, before finishing
a batch, or when the process cannot be killed, is the pod itself beyond help. Loading, waiting for
a broker, a rebalance, a failing sink and a crash loop are no reason to restart the pod.

**Ready**: the pod does its share of the work. Every worker is ready, except that one which was
ready before may be coming back from its death while at least one other is ready: a single crash
must not shrink a Service or stop a rollout, but a rollout must not go on over a worker that
never came up. A crash loop, a failing sink, draining, and a rebalance longer than its grace are
not ready, nor is a worker whose lag has told of a stall or a stop for a while (`lag_rules.py`). A worker
that rebalances or comes back is named in the notes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pelton.states import SupervisorState, WorkerState

CRASH_LOOP = 3
"""Deaths in a row, none followed by a stable time, that make a crash loop."""
SILENT_S = 10.0
"""How long the poll loop may be silent before its worker is not ready, in seconds; a frozen process is silent."""
REBALANCE_GRACE_S = 60.0
"""How long a worker whose partitions move still counts as ready, in seconds."""

_COMING_BACK = frozenset(
    {
        WorkerState.RESTARTING,
        WorkerState.STARTING,
        WorkerState.LOADING,
        WorkerState.WARMING,
        WorkerState.JOINING,
    }
)
_HOLDS_WORK = frozenset({WorkerState.READY, WorkerState.REBALANCING})


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker as its supervisor sees it; times in seconds of `time.monotonic()`, 0 = never."""

    index: int
    state: WorkerState
    reason: str = ""
    since_s: float = 0.0
    was_warm: bool = False
    was_ready: bool = False
    ready_since_s: float = 0.0
    """When the process now running was first ready."""
    deaths: int = 0
    """Deaths in a row; a stable time as ready sets it back to 0."""
    hangs: int = 0
    """Hangs in a row, with no batch finished and no quiet time between them."""
    last_hang: str = ""
    unkillable: bool = False
    poll_beat_s: float = 0.0
    batch_started_s: float = 0.0
    batch_finished_s: float = 0.0
    oldest_unfinished_s: float = 0.0
    in_flight: int = 0
    """Scores, dead letters and answers the broker has not acknowledged yet."""
    lag_reason: str = ""
    """Why the lag of its partitions speaks against it, empty while it does not."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one probe, and why it is no."""

    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What is going on and speaks not against it."""

    @property
    def ok(self) -> bool:
        """Tell whether nothing speaks against it."""
        return not self.reasons

    def describe(self) -> dict[str, str | list[str]]:
        """Return the body of the probe's answer."""
        told: dict[str, str | list[str]] = {"status": "ok" if self.ok else "failing", "reasons": list(self.reasons)}
        return told | {"notes": list(self.notes)} if self.notes else told


def hang(worker: WorkerView, now_s: float, stall_s: float) -> str:
    """Say what has stood still for longer than `stall_s`, or nothing.

    Where scores cannot leave, batches stand still as they must. Old unfinished records alone are no
    hang either: they may wait behind long batches or for the broker.
    """
    polled = worker.poll_beat_s and now_s - worker.poll_beat_s
    if polled > stall_s:
        return f"the poll loop has not come round for {polled:.0f} s"
    if worker.state is WorkerState.BLOCKED:
        return ""
    running = worker.batch_started_s and now_s - worker.batch_started_s
    if running > stall_s:
        return f"the batch in the model has not ended for {running:.0f} s"
    waiting = worker.oldest_unfinished_s and now_s - worker.oldest_unfinished_s
    idle = now_s - worker.batch_finished_s
    if worker.state in _HOLDS_WORK and not (running or worker.in_flight) and min(waiting, idle) > stall_s:
        return f"records have waited for {waiting:.0f} s and no batch was finished"
    return ""


def startup(workers: Sequence[WorkerView]) -> Verdict:
    """Tell whether every worker has had a warm model once."""
    return Verdict(tuple(_say(w) for w in workers if not w.was_warm))


def live(workers: Sequence[WorkerView]) -> Verdict:
    """Tell whether the supervisor can still keep its workers going."""
    return Verdict(tuple(f"worker {w.index}: {w.last_hang}, and {_beyond_help(w)}" for w in workers if _beyond_help(w)))


def _beyond_help(worker: WorkerView) -> str:
    if worker.unkillable:
        return "it cannot be killed"
    return "replacing it did not help" if worker.hangs > 1 else ""


def ready(supervisor: SupervisorState, workers: Sequence[WorkerView], now_s: float, stable_s: float) -> Verdict:
    """Tell whether events are scored here; `stable_s` as ready ends a crash loop."""
    if supervisor is not SupervisorState.RUNNING:
        return Verdict((f"the supervisor is {supervisor}",))
    serving = [w.index for w in workers if _serves(w, now_s, stable_s)]
    lacking = [w for w in workers if w.index not in serving and not (serving and _forgiven(w))]
    if not workers:
        return Verdict(("no worker was started yet",))
    noted = [w for w in workers if w not in lacking and w.state is not WorkerState.READY]
    return Verdict(tuple(_say(w, silent_s(w, now_s)) for w in lacking), tuple(map(_say, noted)))


def _serves(worker: WorkerView, now_s: float, stable_s: float) -> bool:
    settled = worker.deaths < CRASH_LOOP or now_s - worker.ready_since_s >= stable_s
    moving = worker.state is WorkerState.REBALANCING and now_s - worker.since_s <= REBALANCE_GRACE_S
    return (
        settled and not (worker.lag_reason or silent_s(worker, now_s)) and (moving or worker.state is WorkerState.READY)
    )


def silent_s(worker: WorkerView, now_s: float) -> float:
    """Return for how long the poll loop has been silent, or 0 while that is no cause for concern."""
    quiet_s = now_s - worker.poll_beat_s if worker.poll_beat_s else 0.0
    return quiet_s if quiet_s > SILENT_S else 0.0


def _forgiven(worker: WorkerView) -> bool:
    return worker.was_ready and worker.deaths < CRASH_LOOP and worker.state in _COMING_BACK


def _say(worker: WorkerView, quiet_s: float = 0.0) -> str:
    loop = f"in a crash loop ({worker.deaths} deaths in a row), " if worker.deaths >= CRASH_LOOP else ""
    why = f": {worker.reason}" if worker.reason else ""
    silent = f", and its poll loop has been silent for {quiet_s:.0f} s" if quiet_s else ""
    lag = f", and its lag tells of a {worker.lag_reason}" if worker.lag_reason else ""
    return f"worker {worker.index} is {loop}{worker.state}{why}{silent}{lag}"
