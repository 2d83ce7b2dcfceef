"""How often one caller may ask."""

from pelton.consumers.calls import Call


class Quota:
    """Lets each caller have so many requests in any second; a caller is whoever reads one reply topic and partition.

    A record does not tell its principal: what a principal may send is the broker's to limit, by quotas of its own.
    """

    def __init__(self, calls_per_s: int) -> None:
        # Imported only where there is a limit: it takes a tenth of a second.
        from limits import RateLimitItemPerSecond  # noqa: PLC0415
        from limits.storage import MemoryStorage  # noqa: PLC0415
        from limits.strategies import MovingWindowRateLimiter  # noqa: PLC0415

        self._limit = RateLimitItemPerSecond(calls_per_s)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def admits(self, call: Call) -> bool:
        """Count a request, and tell whether it is within its caller's limit."""
        head = call.head
        return self._limiter.hit(self._limit, head.reply_topic or "", str(head.reply_partition))
