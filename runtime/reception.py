"""What is done about a request that has just come: scored, answered at once, or nothing."""

from enum import StrEnum

from pelton.consumers.calls import Call
from pelton.consumers.quota import Quota
from pelton.consumers.repeats import Repeats, Seen
from pelton.metrics import Metrics
from pelton.producers.reply_topics import ReplyTopics
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection
from pelton.schemas.request_codec import RequestCodec


class Fate(StrEnum):
    """What becomes of a request without an answer of its own."""

    TO_MODEL = "to_model"
    WITH_ITS_TWIN = "with_its_twin"
    """The same is being worked on, and its answer goes to the same address."""
    OVER = "over"
    """Nothing is left to do."""


class Reception:
    """Decides on requests one by one; belongs to the poll thread."""

    def __init__(
        self,
        codec: RequestCodec,
        repeats: Repeats,
        topics: ReplyTopics,
        metrics: Metrics,
        quota: Quota | None = None,
    ) -> None:
        self._codec, self._repeats, self._topics, self._metrics = codec, repeats, topics, metrics
        self._quota = quota

    def receive(self, call: Call, value: bytes | None) -> Fate | bytes | Rejection:
        """Return what becomes of a request, the answer it had before, or why it gets none."""
        head = call.head
        if head.cancels:
            self._cancel(call)
            return Fate.OVER
        if head.reply_topic is not None and not self._topics.allows(head.reply_topic):
            self._metrics.replies.labels("forbidden").inc()
            return Fate.OVER
        if head.fault:
            return Rejection(Code.INVALID, head.fault, "decode", "HeaderFault")
        if call.expired:
            return EXPIRED
        if self._quota is not None and not self._quota.admits(call):
            return RATE_LIMITED
        return self._look(call, value or b"")

    def _look(self, call: Call, value: bytes) -> Fate | bytes | Rejection:
        seen, answer = self._repeats.look(call, value)
        if seen is Seen.OTHER_BODY:
            return Rejection(Code.INVALID, "the correlation id came before with another body", "decode", "Clash")
        if seen is not Seen.NEW:
            self._metrics.repeats.inc()
            return Fate.WITH_ITS_TWIN if answer is None else answer
        question = self._codec.decode(value)
        if isinstance(question, Rejection):
            return question
        call.events, call.single = question.events, question.single
        return Fate.TO_MODEL

    def _cancel(self, call: Call) -> None:
        pending = self._repeats.pending(call)
        if pending is not None and not pending.cancelled:
            pending.cancelled = True
            self._metrics.cancels.inc()


EXPIRED = Rejection(Code.EXPIRED, "the deadline passed before there was an answer", "decode", "Expired")
RATE_LIMITED = Rejection(Code.RATE_LIMITED, "too many requests from one caller in a second", "decode", "RateLimited")
CANCELLED = Rejection(Code.CANCELLED, "the caller has taken the request back", "decode", "Cancelled")
