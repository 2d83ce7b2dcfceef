"""What a storm did to the workers, counted in their logs."""

from collections.abc import Iterable
from typing import Any

from tests.broker.served import Served

ENDS = {
    "rebalances": ("partitions_assigned", "partitions_revoked", "partitions_lost"),
    "aborts": ("transaction_aborted", "uncommitted_dropped"),
    "producers replaced": ("producer_replaced",),
    "commits refused": ("commit_refused",),
    "failures": ("worker_failed",),
}
FENCED = ("FENCED", "INVALID_PRODUCER_EPOCH", "Fenced")


def counts(crew: Iterable[Served]) -> dict[str, int]:
    """Return how often workers were rebalanced, aborted and fenced."""
    lines = [line for served in crew for line in served.log()]
    found = {name: sum(line.get("event") in events for line in lines) for name, events in ENDS.items()}
    return found | {"fences": sum(_fenced(line) for line in lines)}


def _fenced(line: dict[str, Any]) -> bool:
    told = f"{line.get('reason', '')}{line.get('exception', '')}"
    return line.get("event") in {"producer_replaced", "worker_failed", "worker_fenced"} and any(
        word in told for word in FENCED
    )
