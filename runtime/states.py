"""What a worker, its supervisor and the lag of a partition can be, and which moves between those states are legal:

    starting ─▶ loading ─▶ warming ─▶ joining ◀─▶ ready ◀─▶ rebalancing ◀─▶ blocked

The last four may follow each other in any order. Any state can turn to draining, then stopped;
any death turns to restarting, then starting.

A lag begins as unknown. What takes samples to tell (warn, rewind, stall) cannot follow that at once.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from pelton.errors import PeltonError


class IllegalMoveError(PeltonError):
    """A state was followed by one that cannot follow it: a fault in Pelton itself."""


class WorkerState(StrEnum):
    """What one worker is doing."""

    STARTING = "starting"
    """The process was started and has not said anything yet."""
    LOADING = "loading"
    """The libraries and the model are being loaded."""
    WARMING = "warming"
    """The model runs its warm-up batches and its golden cases."""
    JOINING = "joining"
    """The model is warm; the broker, the topics or the consumer group are still awaited."""
    READY = "ready"
    """Events are scored as they come; a member without a partition is ready too."""
    REBALANCING = "rebalancing"
    """Partitions have left this member, and the group has not said yet which come instead."""
    BLOCKED = "blocked"
    """Scores cannot leave: the sink or the dead-letter topic refuses. It resumes by itself."""
    DRAINING = "draining"
    """No new events are taken; those in hand are finished and committed."""
    STOPPED = "stopped"
    """The worker has ended and will not be started again."""
    RESTARTING = "restarting"
    """The process died; the next one starts when the back-off is over."""


class SupervisorState(StrEnum):
    """What the supervisor is doing."""

    RUNNING = "running"
    DRAINING = "draining"
    STOPPED = "stopped"


class LagState(StrEnum):
    """How a partition, or the worst of a worker's, gets on with its lag; the worse, the further down."""

    OK = "ok"
    """Nothing is left to read, or the lag shrinks, or nothing speaks against it yet."""
    UNKNOWN = "unknown"
    """Nobody tells where the partition ends."""
    WARN = "warn"
    """Records are finished, but the lag never shrinks: more capacity is needed. No fault of the worker's."""
    REWIND = "rewind"
    """The worker stands before where it stood: the topic was made anew, or the broker lost records."""
    STALL = "stall"
    """Records are left and polled for, and none is finished."""
    STOP = "stop"
    """Records are left, and nobody polls any more."""

    @property
    def severity(self) -> int:
        """Return a number that is the higher the worse."""
        return list(LagState).index(self)


_S = WorkerState
_ENDS = frozenset({_S.DRAINING, _S.STOPPED, _S.RESTARTING})

MOVES: Mapping[WorkerState, frozenset[WorkerState]] = MappingProxyType(
    {
        _S.STARTING: _ENDS | {_S.LOADING},
        _S.LOADING: _ENDS | {_S.WARMING},
        _S.WARMING: _ENDS | {_S.JOINING},
        _S.JOINING: _ENDS | {_S.READY, _S.REBALANCING, _S.BLOCKED},
        _S.READY: _ENDS | {_S.REBALANCING, _S.BLOCKED, _S.JOINING},
        _S.REBALANCING: _ENDS | {_S.READY, _S.BLOCKED, _S.JOINING},
        _S.BLOCKED: _ENDS | {_S.READY, _S.REBALANCING, _S.JOINING},
        _S.DRAINING: frozenset({_S.STOPPED, _S.RESTARTING}),
        _S.RESTARTING: frozenset({_S.STARTING, _S.STOPPED}),
        _S.STOPPED: frozenset({_S.RESTARTING}),
    }
)
"""The states that may follow each state; staying, with another reason, is always legal."""

WARM = frozenset({_S.JOINING, _S.READY, _S.REBALANCING, _S.BLOCKED})
"""The states of a worker whose model is loaded and warm."""

UNREADY = frozenset({LagState.STALL, LagState.STOP})
"""The states of a lag that speak against the worker."""
_ANY = frozenset(LagState)
LAG_MOVES: Mapping[LagState, frozenset[LagState]] = MappingProxyType(
    {state: _ANY - {state} for state in LagState} | {LagState.UNKNOWN: frozenset({LagState.OK, LagState.STOP})}
)
"""The states that may follow each state of a partition's lag."""


def may_follow(old: WorkerState, new: WorkerState) -> bool:
    """Tell whether a worker may go from `old` to `new`."""
    return new is old or new in MOVES[old]


def check_move(old: WorkerState, new: WorkerState) -> None:
    """Raise IllegalMoveError unless `new` may follow `old`."""
    if not may_follow(old, new):
        raise IllegalMoveError(f"a worker cannot go from {old} to {new}")
