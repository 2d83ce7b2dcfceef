"""Records handed to the model together, and why they were handed over."""

from dataclasses import dataclass, field
from enum import StrEnum

from pelton.schemas.records import Records


class CloseReason(StrEnum):
    """Why a batch was closed."""

    SIZE = "size"
    COST = "cost"
    WAIT = "wait"
    DEADLINE = "deadline"


class Lane(StrEnum):
    """Which queue records wait in."""

    STREAM = "stream"
    REQUESTS = "requests"


@dataclass(slots=True)
class Batch:
    """Records handed to the model together: one block a partition and poll, in arrival order."""

    parts: list[Records]
    closed_by: CloseReason
    waited_s: float
    lane: Lane = Lane.STREAM
    n_records: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_records = sum(map(len, self.parts))
