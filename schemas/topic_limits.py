"""What a topic takes, as far as its settings tell."""

from dataclasses import dataclass

NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """What a topic refuses a record for; the defaults refuse nothing.

    `before_max_ms` and `after_max_ms` are how far a record's timestamp may lie behind and ahead of the broker's clock.
    """

    max_bytes: int = 2**31 - 1
    compacted: bool = False
    before_max_ms: int = NO_LIMIT
    after_max_ms: int = NO_LIMIT


ANYTHING = TopicLimits()
"""The limits of a topic of which nothing is known."""
