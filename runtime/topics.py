"""Look topics up and create them, within a time limit and without creating one by accident."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

import structlog
from confluent_kafka import KafkaError, TopicCollection
from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from pelton.admin_calls import AdminCalls
from pelton.errors import BrokerUnavailable, KafkaFailure
from pelton.schemas.topic_limits import ANYTHING, NO_LIMIT, TopicLimits

log = structlog.get_logger(__name__)

_EXISTS = (KafkaError.TOPIC_ALREADY_EXISTS,)
_MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART,)


def describe(kafka: str | Mapping[str, Any], names: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
    """Return the number of partitions of each topic of `names` that exists; the others are left out.

    `kafka` is bootstrap addresses or librdkafka properties. Raises BrokerUnavailable, AccessDenied
    or KafkaFailure within about `timeout_s` seconds.
    """
    wanted = list(dict.fromkeys(names))
    return Catalog(kafka, timeout_s).describe(wanted) if wanted else {}


class Catalog:
    """Describes topics again and again over one connection, for one thread; a connection for each look takes 50 ms."""

    def __init__(self, kafka: str | Mapping[str, Any], timeout_s: float) -> None:
        self._admin, self._timeout_s = AdminCalls(kafka, timeout_s), timeout_s

    def describe(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of partitions of each topic that exists, as the function of that name does."""
        admin = self._admin
        admin.begin(self._timeout_s)
        futures = admin.client.describe_topics(TopicCollection(list(names)), request_timeout=self._timeout_s)
        found = {name: admin.result(future, unless=_MISSING, of=name) for name, future in futures.items()}
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
    admin = AdminCalls(kafka, timeout_s)
    topics = [NewTopic(name, count, config=dict(config or {})) for name, count in partitions.items()]
    futures = admin.client.create_topics(topics, operation_timeout=timeout_s, request_timeout=timeout_s)
    for name, future in futures.items():
        admin.result(future, unless=_EXISTS, of=name)
    while set(partitions) - set(describe(kafka, partitions, admin.deadline.remaining_s())):
        if admin.deadline.expired:
            raise BrokerUnavailable(f"the new topics did not appear within {timeout_s:g} s")


def limits(kafka: str | Mapping[str, Any], names: Iterable[str], timeout_s: float = 5.0) -> dict[str, TopicLimits]:
    """Return what each topic takes; none are known of one that the broker says nothing of (rights, time)."""
    resources = {name: ConfigResource(ConfigResource.Type.TOPIC, name) for name in names}
    admin = AdminCalls(kafka, timeout_s)
    futures = admin.client.describe_configs(list(resources.values()), request_timeout=timeout_s)
    return {name: _limits(admin, futures[resource], name) for name, resource in resources.items()}


def _limits(admin: AdminCalls, future: "Future[Any]", topic: str) -> TopicLimits:
    try:
        found = admin.result(future, unless=_MISSING)
    except KafkaFailure as error:
        log.warning("topic_limits_unknown", topic=topic, reason=str(error))
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
