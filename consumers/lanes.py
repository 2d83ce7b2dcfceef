"""Two queues before one device: requests go first, and the stream keeps its share."""

from pelton.consumers.batch import Batch
from pelton.consumers.batcher import Batcher

_WHOLE = 1 - 1e-9
"""A batch owed; made of shares that floating point may miss by a little."""


class Lanes:
    """Gives out the batches of two queues, one at a time, to whoever feeds the device.

    A request goes before the stream, whose records nobody waits for. While both have batches due, `stream_share` of
    the batches are the stream's, so that no flood of requests can starve it; once it waits no longer, nothing is owed
    it. A batch never holds both: what kills the
    process while a suspect record is tried was alone with it.
    """

    def __init__(self, requests: Batcher, stream: Batcher, stream_share: float) -> None:
        self._requests, self._stream = requests, stream
        self._owed_each = stream_share / (1 - stream_share)
        self._owed = 0.0

    def take(self) -> Batch | None:
        """Return the next batch if one is due, else None; its lane's `done` must follow once it is finished."""
        stream_waits = self._stream.due_in_s() == 0
        stream_first = stream_waits and self._owed >= _WHOLE
        for lane in (self._stream, self._requests) if stream_first else (self._requests, self._stream):
            if batch := lane.take():
                self._account(of_requests=lane is self._requests, stream_waits=stream_waits)
                return batch
        return None

    def due_in_s(self) -> float:
        """Return the seconds until a batch is due, 0 when one is, infinity when nothing waits."""
        return min(self._requests.due_in_s(), self._stream.due_in_s())

    def close(self) -> None:
        """Give out no more batches."""
        self._requests.close()
        self._stream.close()

    @property
    def takes_s(self) -> float:
        """What a batch takes, as far as is known; to be set by whoever scores. Only requests have deadlines to meet."""
        return self._requests.takes_s

    @takes_s.setter
    def takes_s(self, seconds: float) -> None:
        self._requests.takes_s = seconds

    def _account(self, *, of_requests: bool, stream_waits: bool) -> None:
        if not of_requests:
            self._owed = max(0.0, self._owed - 1)
        else:
            self._owed = self._owed + self._owed_each if stream_waits else 0.0
