"""What `/status` shows of the lag of a worker, and of each partition that it holds."""

import msgspec

from pelton.states import LagState


class PartitionStatus(msgspec.Struct, frozen=True):
    """Where the worker stands on one partition, None = unknown.

    `lag` is in records, `lag_s` the age of the oldest of them, and `drain_s` how long they take at the rate of
    late; `verdict` is what is to be said of it, and `reason` why.
    """

    topic: str
    partition: int
    position: int | None = None
    committed: int | None = None
    lag: int | None = None
    lag_s: float | None = None
    drain_s: float | None = None
    verdict: LagState = LagState.UNKNOWN
    reason: str = ""


class LagStatus(msgspec.Struct, frozen=True):
    """The worst of a worker's partitions and why; `unready` says why the worker is not ready, empty while it is."""

    verdict: LagState = LagState.OK
    reason: str = ""
    unready: str = ""
