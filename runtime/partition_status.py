"""What `/status` shows of one partition that a worker holds."""

import msgspec


class PartitionStatus(msgspec.Struct, frozen=True):
    """Where the worker stands on one partition, None = unknown.

    `lag` is in records, `lag_s` the age of the oldest of them, and `drain_s` how long they take at the rate of
    late.
    """

    topic: str
    partition: int
    position: int | None = None
    committed: int | None = None
    lag: int | None = None
    lag_s: float | None = None
    drain_s: float | None = None
