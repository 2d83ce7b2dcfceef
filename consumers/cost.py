"""What events cost in a batch, as the model's `size` counts it."""

from collections.abc import Callable, Iterable
from typing import Any

from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection, Tombstone


class Cost:
    """Tells how many records of a block a batch can still take; without a limit, all of them."""

    def __init__(self, limit: int | None, of_event: Callable[[Any], int] | None) -> None:
        self.limit, self._of_event = limit, of_event

    def fitting(self, head: Records, room: int, left: int | None, *, first: bool) -> tuple[int, int | None]:
        """Return how many records of `head` fit into `room` records and `left` cost, and what is left of that.

        An event dearer than a whole batch goes alone: it fits where it is the `first`.
        """
        n = min(room, len(head))
        if left is None or self._of_event is None:
            return n, left
        for i, event in enumerate(head.events[:n]):
            left -= self._price(event)
            if left < 0 and not (first and i == 0):
                return i, left
        return n, left

    def fills(self, queue: Iterable[Records]) -> bool:
        """Tell whether what waits is dear enough for a whole batch."""
        if self.limit is None:
            return False
        left: int | None = self.limit
        for records in queue:
            n, left = self.fitting(records, len(records), left, first=False)
            if n < len(records):
                return True
        return False

    def _price(self, event: Any) -> int:
        if self._of_event is None or isinstance(event, (Rejection, Tombstone)):
            return 0
        try:
            return self._of_event(event)
        except Exception:  # noqa: BLE001 - an event that the model cannot price goes alone, and is judged there
            return self.limit or 1
