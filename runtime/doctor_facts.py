"""What a cluster says of the topics, the group and the rights that settings need; asked for, never changed."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from pelton.admin_calls import AdminCalls
from pelton.replica import id_stem
from pelton.schemas.settings import Settings
from pelton.settings_roles import groups_of, inputs_of, roles_of
from pelton.silent_log import silent_log

_silent = silent_log("pelton.doctor.librdkafka")

Rights = frozenset[str] | None
"""Names of the operations that the principal may do, READ and the like; None where the broker does not say."""


ANYBODY = frozenset({"User:*"})


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic that exists; `newest_ms` is the highest timestamp among its last records, None without any."""

    partitions: int
    replicas: int
    config: Mapping[str, str] = field(default_factory=dict)
    rights: Rights = None
    newest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What was found; a topic that is not in `topics` does not exist or may not be seen.

    `id_users` are the principals that ACLs let use the workers' transactional ids, None where those may not be looked
    up.
    """

    brokers: int
    config: Mapping[str, str]
    rights: Rights
    group_rights: Mapping[str, Rights]
    topics: Mapping[str, TopicFacts]
    id_users: frozenset[str] | None = ANYBODY


def gather(settings: Settings, timeout_s: float = 8.0) -> ClusterFacts:
    """Ask the cluster of these settings; raises KafkaFailure when it does not answer in time or lets nobody in."""
    return _Inquiry(settings, timeout_s).facts()


class _Inquiry:
    def __init__(self, settings: Settings, timeout_s: float) -> None:
        self._settings, self._calls = settings, AdminCalls(settings.kafka, timeout_s)
        self._properties: dict[str, Any] = {**settings.kafka, "logger": _silent}
        self._admin = self._calls.client
        self._inputs = inputs_of(settings)

    def facts(self) -> ClusterFacts:
        settings = self._settings
        cluster = self._answer(self._admin.describe_cluster(include_authorized_operations=True))
        rights = _rights(cluster.authorized_operations)
        broker = ConfigResource(ConfigResource.Type.BROKER, str(cluster.nodes[0].id))
        config = self._config(broker)
        return ClusterFacts(
            brokers=len(cluster.nodes),
            config=config,
            rights=rights,
            group_rights={group: self._group_rights(group) for group in groups_of(settings)},
            topics=self._topics(roles_of(settings)),
            id_users=self._id_users(rights, config) if settings.delivery == "exactly-once" else ANYBODY,
        )

    def _id_users(self, rights: Rights, config: Mapping[str, str]) -> frozenset[str] | None:
        if config and not config.get("authorizer.class.name"):
            return ANYBODY
        if "DESCRIBE" not in (rights or ()):
            return None  # the client would make an empty list of the broker's refusal
        name = f"{id_stem(self._settings.stream.group if self._settings.stream else '', self._settings.replica)}-0"
        of_id = (ResourceType.TRANSACTIONAL_ID, name, ResourcePatternType.MATCH)
        anybody: Any = None
        wanted = AclBindingFilter(*of_id, anybody, anybody, AclOperation.ANY, AclPermissionType.ALLOW)
        found = self._answer(self._admin.describe_acls(wanted))
        using = (AclOperation.WRITE, AclOperation.ALL)
        return frozenset(acl.principal for acl in found if acl.operation in using)

    def _topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        wanted = TopicCollection(list(names))
        futures = self._admin.describe_topics(wanted, include_authorized_operations=True)
        found = {name: self._answer(future, unless=_UNSEEN) for name, future in futures.items()}
        return {name: self._topic(name, told) for name, told in found.items() if told is not None}

    def _topic(self, name: str, told: Any) -> TopicFacts:
        return TopicFacts(
            partitions=len(told.partitions),
            replicas=min((len(each.replicas) for each in told.partitions), default=0),
            config=self._config(ConfigResource(ConfigResource.Type.TOPIC, name)),
            rights=_rights(told.authorized_operations),
            newest_ms=self._newest_ms(name, len(told.partitions)) if name in self._inputs else None,
        )

    def _config(self, resource: ConfigResource) -> dict[str, str]:
        found = self._answer(self._admin.describe_configs([resource])[resource], unless=_UNSEEN)
        return {name: entry.value for name, entry in (found or {}).items() if entry.value is not None}

    def _group_rights(self, group: str) -> Rights:
        describe = self._admin.describe_consumer_groups
        told = self._calls.of_group(
            lambda: describe([group], include_authorized_operations=True)[group], unless=_UNSEEN, of=f"group {group}"
        )
        return frozenset() if told is None else _rights(told.authorized_operations)

    def _newest_ms(self, topic: str, n_partitions: int) -> int | None:
        """Return the highest timestamp among the last record of each partition."""
        consumer = Consumer({**self._properties, "group.id": "pelton-doctor", "enable.auto.commit": False})
        try:
            places = [TopicPartition(topic, number) for number in range(n_partitions)]
            ends = [consumer.get_watermark_offsets(at, timeout=self._left_s()) for at in places]
            last = [
                TopicPartition(topic, at.partition, high - 1)
                for at, (low, high) in zip(places, ends, strict=True)
                if high > low
            ]
            if not last:
                return None
            consumer.assign(last)
            found = consumer.consume(len(last), timeout=min(1.0, self._left_s()))
            return max((message.timestamp()[1] for message in found if message.error() is None), default=None)
        except KafkaException:
            return None  # what may not be read is told by the rights
        finally:
            consumer.close()

    def _answer(self, future: "Future[Any]", unless: frozenset[int] = frozenset()) -> Any:
        """Wait for an answer; return None where it is one of the error codes in `unless`."""
        return self._calls.result(future, unless)

    def _left_s(self) -> float:
        return self._calls.left_s()


_UNSEEN = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_ID_NOT_FOUND,
    }
)
"""What does not exist, or may not be seen, is no fault of the question."""


def _rights(operations: Iterable[Any] | None) -> Rights:
    return None if operations is None else frozenset(operation.name for operation in operations)
