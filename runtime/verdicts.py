"""What each error of a transaction means: try again, abort and send again, or give the producer up."""

from enum import StrEnum
from types import MappingProxyType

from confluent_kafka import KafkaError


class Verdict(StrEnum):
    """What is to be done about an error of a transaction."""

    RETRY = "retry"
    """The same call can succeed in a moment; nothing is lost."""
    ABORT = "abort"
    """This transaction cannot be committed; another one on the same producer can."""
    FATAL = "fatal"
    """This producer can do nothing more; a new one can."""


_RETRY = {
    KafkaError._TIMED_OUT: "the broker has not answered in time, and may have done what it was asked",
    KafkaError._TIMED_OUT_QUEUE: "the request has not left in time",
    KafkaError._TRANSPORT: "the connection broke; it is opened again",
    KafkaError._ALL_BROKERS_DOWN: "no broker is connected; they are tried again",
    KafkaError._WAIT_COORD: "the coordinator is being looked up",
    KafkaError._PREV_IN_PROGRESS: "the call before has not ended yet",
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: "the coordinator is reading its log after a start",
    KafkaError.COORDINATOR_NOT_AVAILABLE: "the coordinator is moving or starting",
    KafkaError.NOT_COORDINATOR: "the coordinator has moved to another broker",
    KafkaError.CONCURRENT_TRANSACTIONS: "the coordinator is still writing the markers of the transaction before",
    KafkaError.NETWORK_EXCEPTION: "the broker lost a connection of its own",
    KafkaError.REQUEST_TIMED_OUT: "the broker's replicas have not answered in time",
    KafkaError.NOT_LEADER_FOR_PARTITION: "the partition has moved to another broker",
    KafkaError.LEADER_NOT_AVAILABLE: "the partition is choosing a leader",
    KafkaError.BROKER_NOT_AVAILABLE: "the broker is starting or ending",
    KafkaError.UNSTABLE_OFFSET_COMMIT: "offsets of an earlier transaction are still pending",
}
_ABORT = {
    KafkaError.ILLEGAL_GENERATION: "the group has moved on: partitions may belong to another member",
    KafkaError.UNKNOWN_MEMBER_ID: "the group has given this member up",
    KafkaError.FENCED_INSTANCE_ID: "another process took this member's static identity",
    KafkaError.STALE_MEMBER_EPOCH: "the group has moved on since the member's last heartbeat",
    KafkaError.FENCED_MEMBER_EPOCH: "the group has given this member up",
    KafkaError.REBALANCE_IN_PROGRESS: "the group is moving partitions",
    KafkaError.TRANSACTION_ABORTABLE: "the broker asks for an abort",
    KafkaError._INCONSISTENT: "a message of the transaction was purged or lost",
    KafkaError._MSG_TIMED_OUT: "a message did not reach the broker within the transaction's time",
    KafkaError._STATE: "an earlier error of the transaction stands",
    KafkaError.INVALID_PRODUCER_ID_MAPPING: "the coordinator no longer knows the producer of a finished transaction",
    KafkaError.UNKNOWN_PRODUCER_ID: "the partition no longer knows the producer: its records were deleted",
}
_FATAL = {
    KafkaError._FENCED: "the coordinator gave this producer's place away: it timed out, or another took its id",
    KafkaError.PRODUCER_FENCED: "another producer with the same transactional id has started",
    KafkaError.INVALID_PRODUCER_EPOCH: "the transaction timed out at the coordinator, or another took its id",
    KafkaError._FATAL: "librdkafka has given the producer up",
    KafkaError.INVALID_TXN_STATE: "client and coordinator disagree about the transaction",
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER: "a message before this one is missing at the broker",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the principal may not use this transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the principal may not write idempotently",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "transaction.timeout.ms is above the broker's transaction.max.timeout.ms",
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: "the topic's message format knows no transactions",
}

MEANING: MappingProxyType[Verdict, dict[int, str]] = MappingProxyType(
    {Verdict.FATAL: _FATAL, Verdict.ABORT: _ABORT, Verdict.RETRY: _RETRY}
)
"""Why each code is judged as it is, in one sentence; other codes are judged by the client's own flags."""

OF_THE_GROUP = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.FENCED_MEMBER_EPOCH,
        KafkaError.REBALANCE_IN_PROGRESS,
    }
)
"""Refusals of the offsets alone: the group no longer knows the member as it was when the offsets were read."""

OF_THE_ID = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
"""The coordinator bumped the producer's epoch: for time, or for another process with the same transactional id."""

OF_THE_PRODUCER = OF_THE_ID | {KafkaError._FATAL}
"""Errors of a message that are the producer's own: it can do nothing more, and its next call says why."""


def judge(error: KafkaError) -> Verdict:
    """Return what an error of a transactional call means; the client's own flags come before the table."""
    if error.fatal():
        return Verdict.FATAL
    if error.txn_requires_abort():
        return Verdict.ABORT
    if error.retriable():
        return Verdict.RETRY
    return next((verdict for verdict in Verdict if error.code() in MEANING[verdict]), Verdict.FATAL)


def why(error: KafkaError) -> str:
    """Return the sentence for an error's code, or the client's own text."""
    return next((codes[error.code()] for codes in MEANING.values() if error.code() in codes), error.str())
