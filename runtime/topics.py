"""Look topics up and create them, within a time limit and without creating one by accident."""

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, KafkaFailure
from pelton.kafka_errors import failure, of_settings
from pelton.schemas.topic_limits import ANYTHING, NO_LIMIT, TopicLimits

_EXISTS = KafkaError.TOPIC_ALREADY_EXISTS
_MISSING = KafkaError.UNKNOWN_TOPIC_OR_PART

_silent = logging.getLogger("pelton.topics.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def describe(kafka: str | Mapping[str, Any], names: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
    """Return the number of partitions of each topic of `names` that exists; the others are left out.

    `kafka` is bootstrap addresses or librdkafka properties. Raises BrokerUnavailable, AccessDenied
    or KafkaFailure within about `timeout_s` seconds.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    admin = _Admin(kafka, timeout_s)
    futures = admin.client.describe_topics(TopicCollection(wanted), request_timeout=timeout_s)
    found = {name: admin.result(future, unless=_MISSING) for name, future in futures.items()}
    return {name: len(topic.partitions) for name, topic in found.items() if topic is not None}


def create(
    kafka: str | Mapping[str, Any],
    partitions: Mapping[str, int],
    config: Mapping[str, str] | None = None,
    timeout_s: float = 15.0,
) -> None:
    """Create each topic with its number of partitions, and return when all can be used.

    A topic that exists is left as it is. Raises BrokerUnavailable, AccessDenied or KafkaFailure
    within about `timeout_s` seconds.
    """
    admin = _Admin(kafka, timeout_s)
    topics = [NewTopic(name, count, config=dict(config or {})) for name, count in partitions.items()]
    futures = admin.client.create_topics(topics, operation_timeout=timeout_s, request_timeout=timeout_s)
    for future in futures.values():
        admin.result(future, unless=_EXISTS)
    while set(partitions) - set(describe(kafka, partitions, admin.deadline.remaining_s())):
        if admin.deadline.expired:
            raise BrokerUnavailable(f"the new topics did not appear within {timeout_s:g} s")


def limits(kafka: str | Mapping[str, Any], names: Iterable[str], timeout_s: float = 5.0) -> dict[str, TopicLimits]:
    """Return what each topic takes; none are known of one that the broker says nothing of (rights, time)."""
    resources = {name: ConfigResource(ConfigResource.Type.TOPIC, name) for name in names}
    admin = _Admin(kafka, timeout_s)
    futures = admin.client.describe_configs(list(resources.values()), request_timeout=timeout_s)
    return {name: _limits(admin, futures[resource]) for name, resource in resources.items()}


def _limits(admin: "_Admin", future: "Future[Any]") -> TopicLimits:
    try:
        found = admin.result(future, unless=_MISSING)
    except KafkaFailure:
        return ANYTHING
    if not found:
        return ANYTHING
    told = {name: entry.value for name, entry in found.items()}
    by_event = told.get("message.timestamp.type") != "LogAppendTime"
    return TopicLimits(
        max_bytes=int(told["max.message.bytes"]),
        compacted="compact" in told["cleanup.policy"],
        before_max_ms=int(told.get("message.timestamp.before.max.ms", NO_LIMIT)) if by_event else NO_LIMIT,
        after_max_ms=int(told.get("message.timestamp.after.max.ms", NO_LIMIT)) if by_event else NO_LIMIT,
    )


class _Admin:
    """An admin client whose calls end by a deadline with one of our errors; SettingsError where none can be made."""

    def __init__(self, kafka: str | Mapping[str, Any], timeout_s: float) -> None:
        properties: dict[str, Any] = {"bootstrap.servers": kafka} if isinstance(kafka, str) else dict(kafka)
        self.brokers = properties.get("bootstrap.servers", "")
        self.timeout_s = timeout_s
        self.deadline = Deadline.after(timeout_s + 1.0)
        self.seen: dict[type[KafkaFailure], KafkaFailure] = {}
        with of_settings():
            self.client = AdminClient(properties, error_cb=self._note, logger=_silent)

    def _note(self, error: KafkaError) -> None:
        ours = failure(error)
        self.seen.setdefault(type(ours), ours)

    def result(self, future: "Future[Any]", unless: int) -> Any:
        """Wait for `future`; return None where the answer is the error code `unless`."""
        while not future.done() and not self.deadline.expired:
            self.client.poll(0.05)
            if AccessDenied in self.seen:
                raise self.seen[AccessDenied]
        try:
            return future.result(timeout=0)
        except KafkaException as error:
            if error.args[0].code() == unless:
                return None
            raise self._explained(failure(error)) from error
        except TimeoutError as error:
            raise self._explained(BrokerUnavailable("no answer")) from error

    def _explained(self, ours: KafkaFailure) -> KafkaFailure:
        if not isinstance(ours, BrokerUnavailable):
            return ours
        cause = self.seen.get(BrokerUnavailable, ours)
        return BrokerUnavailable(f"no broker answered at {self.brokers} within {self.timeout_s:g} s: {cause}")
