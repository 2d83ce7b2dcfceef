"""The batch sizes a model is called with."""

from pelton.models.manifest import BatchShapes

# Matrix kernels treat the last rows of a count that is no multiple of their block otherwise than the rest: the same
# event would score differently by its place in the batch. 16 is a multiple of every block met so far.
_BLOCK_ROWS = 16


class Shapes:
    """Rounds batch sizes up to the shapes in use, so that a model meets none that it was not warmed for.

    One fixed shape is `max_size` rounded up to whole blocks of 16 rows.
    """

    def __init__(self, kind: BatchShapes, max_size: int) -> None:
        self.max_size = max_size
        self._kind = kind
        powers = (1 << power for power in range((max_size - 1).bit_length()))
        self.in_use: tuple[int, ...] = {
            BatchShapes.ANY: tuple(sorted({1, max_size})),
            BatchShapes.POWERS_OF_TWO: (*powers, max_size),
            BatchShapes.FIXED: (-(-max_size // _BLOCK_ROWS) * _BLOCK_ROWS,),
        }[kind]
        """The sizes to warm up at; with `any`, the smallest and the largest of those that may come."""

    @property
    def fixed(self) -> bool:
        """Whether every batch has the same shape."""
        return self._kind is BatchShapes.FIXED

    def padded(self, n: int) -> int:
        """Return the shape that `n` events are scored in, for 1 <= n <= max_size."""
        if self._kind is BatchShapes.ANY:
            return n
        return next(shape for shape in self.in_use if shape >= n)

    def fitting(self, limit: int) -> int:
        """Return how many events may be scored together when the device has room for `limit` rows, at least 1."""
        if self._kind is BatchShapes.POWERS_OF_TWO:
            return max(shape for shape in self.in_use if shape <= limit)
        return self.max_size if self.fixed else limit
