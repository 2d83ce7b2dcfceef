"""How large a batch may be, learned from running out of memory."""

GOOD_BATCHES = 50


class Ceiling:
    """The largest batch that memory holds; falls at once, rises by a quarter after 50 good batches.

    It moves in rows as the device sees them, padding included.
    """

    def __init__(self, max_size: int) -> None:
        self._max = self.limit = max_size
        self._proven = 0
        self._good = 0

    def lower(self, rows: int) -> None:
        """Note that a batch of `rows` found no room: back to what was proven, else to the half."""
        self.limit = self._proven if 0 < self._proven < rows else max(1, rows // 2)
        self._good = 0

    def restore(self, limit: int) -> None:
        """Go back to an earlier limit: one record was too large, not the batch."""
        self.limit = limit

    def passed(self, *, full: bool) -> bool:
        """Note a good batch, `full` if it was as large as allowed; return whether the limit rose."""
        if not full or self.limit >= self._max:
            return False
        self._good += 1
        if self._good < GOOD_BATCHES:
            return False
        self._good, self._proven = 0, self.limit
        self.limit = min(self._max, max(self.limit + 1, self.limit * 5 // 4))
        return True
