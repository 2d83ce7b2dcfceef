"""What became of a client's calls, in numbers."""

from dataclasses import dataclass


@dataclass(slots=True)
class CallCounts:
    """Calls and answers since the start of a client."""

    answered: int = 0
    """Calls that got a score."""
    failed: int = 0
    """Calls that ended with an error, expired and cancelled ones included."""
    expired: int = 0
    """Calls that had no answer by their deadline."""
    cancelled: int = 0
    """Calls taken back by the caller."""
    repeated: int = 0
    """Requests sent again under the same id."""
    hedged: int = 0
    """Requests sent to a second partition."""
    late: int = 0
    """Answers to calls of this client that had ended before: repeats, and what came too late."""
    foreign: int = 0
    """Records in the partition of the replies that answer no call of this client."""
    pending: int = 0
    """Calls that wait for their answer now."""

    @property
    def calls(self) -> int:
        """Calls begun."""
        return self.answered + self.failed + self.pending
