"""What the broker answers to the commits of a member."""

import structlog
from confluent_kafka import KafkaError, TopicPartition

from pelton.errors import AccessDenied
from pelton.kafka_errors import NO_OFFSET, failure

log = structlog.get_logger(__name__)


class CommitAnswers:
    """Counts the commits that are refused, and knows whether that is for want of a right."""

    def __init__(self) -> None:
        self.n_refused = 0
        self.denied = ""
        """Why this member may commit nothing; empty once a commit was taken."""

    def hear(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        """Take one answer."""
        # Where some partitions are refused and others are not, only their own errors tell.
        refused = error or next((at.error for at in offsets if at.error), None)
        if refused is None:
            self.denied = ""
        elif refused.code() != NO_OFFSET:
            self.n_refused += 1
            if not self.denied:  # else a few times a second, for as long as the right is missing
                log.warning("commit_refused", error=refused.name(), reason=refused.str())
            ours = failure(refused)
            self.denied = f"offsets cannot be committed: {ours}" if isinstance(ours, AccessDenied) else ""
