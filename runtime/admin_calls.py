"""Questions to the broker that end in time, with one of our errors."""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, KafkaFailure
from pelton.kafka_errors import failure, of_settings
from pelton.silent_log import silent_log

AGAIN_S = 0.2
_STARTING = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)

_silent = silent_log("pelton.admin.librdkafka")


class AdminCalls:
    """An admin client whose calls end within `timeout_s` and a second; SettingsError where none can be made.

    What the client complains of meanwhile tells why no answer came: refused credentials end a call at once.
    """

    def __init__(self, kafka: str | Mapping[str, Any], timeout_s: float) -> None:
        properties: dict[str, Any] = {"bootstrap.servers": kafka} if isinstance(kafka, str) else dict(kafka)
        self._brokers = properties.get("bootstrap.servers", "")
        self.begin(timeout_s)
        with of_settings():
            self.client = AdminClient(properties, error_cb=self._note, logger=_silent)

    def begin(self, timeout_s: float) -> None:
        """Give all calls from now on so much time together; what was complained of before says nothing of them."""
        self._seen: dict[type[KafkaFailure], KafkaFailure] = {}
        self._timeout_s, self.deadline = timeout_s, Deadline.after(timeout_s + 1.0)

    def left_s(self) -> float:
        """Return the seconds that are left, for the client's own time limit."""
        left_s: float = max(0.1, self.deadline.remaining_s() - 1.0)
        return left_s

    def result(self, future: "Future[Any]", unless: Collection[int] = (), of: str = "") -> Any:
        """Wait for `future`; return None where the answer is one of the error codes `unless`.

        Raises AccessDenied, BrokerUnavailable and other KafkaFailures, which begin with what was asked about, if told.
        """
        while not future.done() and not self.deadline.expired:
            self.client.poll(0.05)
            if AccessDenied in self._seen:
                raise self._seen[AccessDenied]
        try:
            return future.result(timeout=0)
        except KafkaException as error:
            if error.args[0].code() in unless:
                return None
            ours = failure(error)
            if error.args[0].code() > 0:  # an answer of the broker
                raise type(ours)(f"{of}: {ours}" if of else str(ours)) from error
            raise self._unheard(ours) from error
        except TimeoutError as error:
            raise self._unheard(BrokerUnavailable("no answer")) from error

    def of_group(self, call: Callable[[], "Future[Any]"], unless: Collection[int] = (), of: str = "") -> Any:
        """Return the answer about a group as `result` does, asking again while its coordinator is only starting."""
        while True:
            try:
                return self.result(call(), unless, of)
            except BrokerUnavailable as error:
                cause = error.__cause__
                starting = isinstance(cause, KafkaException) and cause.args[0].code() in _STARTING
                if not starting or self.deadline.remaining_s() < 1.0:
                    raise
                time.sleep(AGAIN_S)

    def _note(self, error: KafkaError) -> None:
        ours = failure(error)
        self._seen.setdefault(type(ours), ours)

    def _unheard(self, ours: KafkaFailure) -> KafkaFailure:
        if not isinstance(ours, BrokerUnavailable):
            return ours
        cause = self._seen.get(BrokerUnavailable, ours)
        return BrokerUnavailable(f"no broker answered at {self._brokers} within {self._timeout_s:g} s: {cause}")
