"""What the largest batch takes on this machine, and what it is too long for."""

import time
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from pelton.doctor_findings import Finding, error, warning
from pelton.engine import load_engine
from pelton.handover import REVOKE_BUDGET_S
from pelton.metrics import Metrics
from pelton.models.scorer import Scorer
from pelton.progress import Progress
from pelton.relay import FINISH_SHARE
from pelton.schemas.settings import Settings

TRIES = 3


def time_largest_batch(settings: Settings) -> float | None:
    """Return the seconds that a batch of `batch.max_size` golden events took, the slowest of three, on a warm model.

    None for a package without golden cases, whose own warm-up is all there is. Raises what a worker's start raises:
    PackageError, SettingsError, OutOfMemory or DeviceLost.
    """
    engine = load_engine(settings, 0, Metrics(), Progress.null())
    engine.scorer.start()
    package = engine.package
    golden = package.codec().decode([case.event for case in package.golden])
    if not golden:
        return None
    events = list(islice(cycle(golden), settings.batch.max_size))
    return max(_took_s(engine.scorer, events) for _ in range(TRIES))


def too_long(settings: Settings, took_s: float) -> Iterator[Finding]:
    """Yield what a batch of `took_s` seconds is too long for.

    Neither `max.poll.interval.ms` nor the transaction time-out is: polling goes on beside a batch, and only outputs
    stand within a transaction. What waits for a batch is a rebalance, the end of a worker, and whoever asks.
    """
    told = f"a batch of {settings.batch.max_size} takes {took_s:.1f} s here"
    if took_s >= settings.health.stall_s:
        what = f"{told}: its worker would be replaced in the middle of it"
        yield error("health.stall_s", what, f"several times {took_s:.0f} s, or a smaller batch.max_size")
    if took_s > REVOKE_BUDGET_S:
        what = (
            f"{told}, and partitions that move wait {REVOKE_BUDGET_S:g} s for it: then the next owner scores it again"
        )
        yield warning("batch.max_size", what, "smaller batches, or static_id and few changes of the group")
    if took_s > (patience_s := FINISH_SHARE * settings.drain_s):
        what = f"{told}, and a worker told to end gives it up after {patience_s:g} s"
        yield warning("drain_s", what, f"{took_s / FINISH_SHARE:.0f} s and more")
    if settings.requests is not None and took_s > settings.requests.deadline_s:
        what = f"{told}: whoever asks and does not say for how long waits in vain"
        yield warning("requests.deadline_s", what, f"several times {took_s:.0f} s, or a smaller batch.max_size")


def _took_s(scorer: Scorer, events: list[Any]) -> float:
    began_s = time.monotonic()
    scorer.score(events)
    return time.monotonic() - began_s
