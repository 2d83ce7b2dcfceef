"""The one edge at which librdkafka's errors become ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog
from confluent_kafka import KafkaError, KafkaException

from pelton.deadline import Deadline
from pelton.errors import (
    AccessDenied,
    BrokerUnavailable,
    DeliveryFailed,
    Fenced,
    KafkaFailure,
    SettingsError,
    TopicMissing,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

AGAIN_S, ASK_S = 10.0, 1.0

_CLASSES: dict[type[KafkaFailure], frozenset[int]] = {
    BrokerUnavailable: frozenset(
        {
            KafkaError._ALL_BROKERS_DOWN,
            KafkaError._TRANSPORT,
            KafkaError._TIMED_OUT,
            KafkaError._MSG_TIMED_OUT,
            KafkaError._RESOLVE,
            KafkaError._WAIT_COORD,
            KafkaError.BROKER_NOT_AVAILABLE,
            KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
            KafkaError.COORDINATOR_NOT_AVAILABLE,
            KafkaError.NOT_COORDINATOR,
            KafkaError.REQUEST_TIMED_OUT,
            KafkaError.LEADER_NOT_AVAILABLE,
            KafkaError.NOT_LEADER_FOR_PARTITION,
            KafkaError.NOT_ENOUGH_REPLICAS,
            KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            KafkaError.NETWORK_EXCEPTION,
        }
    ),
    TopicMissing: frozenset(
        {
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError.UNKNOWN_TOPIC_ID,
            KafkaError._UNKNOWN_TOPIC,
            KafkaError._UNKNOWN_PARTITION,
        }
    ),
    AccessDenied: frozenset(
        {
            KafkaError._AUTHENTICATION,
            KafkaError._SSL,
            KafkaError.SASL_AUTHENTICATION_FAILED,
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            KafkaError.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        }
    ),
    Fenced: frozenset(
        {
            KafkaError._FENCED,
            KafkaError.FENCED_INSTANCE_ID,
            KafkaError.INVALID_PRODUCER_EPOCH,
            KafkaError.PRODUCER_FENCED,
        }
    ),
}

SIZE_FAULTS = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE, KafkaError.RECORD_LIST_TOO_LARGE})

# What a broker refuses because of the record itself: that record becomes a dead letter, nobody else suffers.
RECORD_FAULTS = frozenset(
    {
        *SIZE_FAULTS,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_MSG,
    }
)

NO_RESET = KafkaError._AUTO_OFFSET_RESET
NO_OFFSET = KafkaError._NO_OFFSET
# How a consumer learns that it is dead: fenced, for one. It is never told more than once.
FATAL = KafkaError._FATAL


def failure(error: KafkaError | KafkaException) -> KafkaFailure:
    """Return our error for one of librdkafka's; what is in no list is a `DeliveryFailed` or a plain `KafkaFailure`."""
    if isinstance(error, KafkaException):
        error = error.args[0]
    if not isinstance(error, KafkaError):
        return KafkaFailure(str(error))
    for kind, codes in _CLASSES.items():
        if error.code() in codes:
            return kind(error.str())
    if error.code() == FATAL and any(KafkaError(code).str() in error.str() for code in _CLASSES[Fenced]):
        return Fenced(error.str())  # of what ended a consumer, only the text is passed on
    return DeliveryFailed(error.str()) if error.fatal() else KafkaFailure(f"{error.name()}: {error.str()}")


@contextmanager
def of_settings() -> Iterator[None]:
    """Make a client inside; properties that it cannot be made with (no such key file, say) are a SettingsError."""
    try:
        yield
    except KafkaException as error:
        raise SettingsError(f"kafka: {failure(error)}") from error


def client_error(raised: KafkaException | SystemError) -> KafkaError | None:
    """Return the client's error, or None where it was lost.

    Of a fatal error that comes up while reports are handled Python makes a SystemError, at times without a cause.
    """
    told = raised if isinstance(raised, KafkaException) else raised.__cause__
    return told.args[0] if isinstance(told, KafkaException) else None


def name_taken(error: KafkaError) -> bool:
    """Tell whether a static member could not join because another one still has its name, as it has until it is missed.

    The client takes that for the end of its own life (and passes on only the text); another client can join later.
    """
    return error.code() == FATAL and KafkaError(KafkaError.UNRELEASED_INSTANCE_ID).str() in error.str()


def fenced_by_commit(error: KafkaError) -> bool:
    """Tell whether a static member was called fenced over a commit, as it is also if it has no session at the moment.

    The client sends what it was asked to commit once the broker is back, even if its session has run out by then.
    """
    text = KafkaError(KafkaError.FENCED_INSTANCE_ID).str()
    return error.code() == FATAL and text in error.str() and "OffsetCommit" in error.str()


class Complaints:
    """What a client complained of, kept to tell why it got no answer: that it was not let in, if that is why."""

    def __init__(self) -> None:
        self._denied: KafkaFailure | None = None

    def note(self, error: KafkaError) -> None:
        """Take an error from the client's callback."""
        if isinstance(ours := failure(error), AccessDenied):
            self._denied = ours

    def explain(self, ours: KafkaFailure) -> KafkaFailure:
        """Return, once, the refusal that was noted, if `ours` only says that no broker answered; else `ours`."""
        if self._denied is None or not isinstance(ours, BrokerUnavailable):
            return ours
        denied, self._denied = self._denied, None
        return denied

    def ask(self, call: Callable[[float], T], serve: Callable[[], object], deadline: Deadline) -> T:
        """Return what `call` returns, made with a time limit of a second at most until it has an answer.

        `serve` brings the errors in. Raises AccessDenied once the client is refused, else what the call ends with.
        """
        while True:
            try:
                return call(min(ASK_S, max(0.1, deadline.remaining_s())))
            except KafkaException as error:
                serve()
                ours = self.explain(failure(error))
                if deadline.expired or not isinstance(ours, BrokerUnavailable):
                    raise ours from error


class ErrorLog:
    """Logs what a client complains of: each kind of error once in `AGAIN_S` seconds, and how often it came.

    A client without its broker complains many times a second, about every connection, for as long as it lasts.
    """

    def __init__(self, client: str) -> None:
        self._client = client
        self._due: dict[tuple[str, str | None], Deadline] = {}
        self._held_back: dict[tuple[str, str | None], int] = {}

    def warn(self, error: KafkaError, topic: str | None = None) -> None:
        """Log an error, or only count it when its kind was logged a short while ago."""
        kind = (error.name(), topic)
        if kind in self._due and not self._due[kind].expired:
            self._held_back[kind] = self._held_back.get(kind, 0) + 1
            return
        self._due[kind] = Deadline.after(AGAIN_S)
        fields = {"topic": topic, "fatal": error.fatal(), "repeated": self._held_back.pop(kind, 0)}
        told = {name: value for name, value in fields.items() if value}
        log.warning("kafka_error", client=self._client, error=error.name(), reason=error.str(), **told)
