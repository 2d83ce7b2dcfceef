"""The `kafka:` group: librdkafka properties, passed through, except those that would break a promise."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo
from pydantic_core import CoreSchema, core_schema

KafkaValue = str | int | float
"""A property's value as librdkafka takes it."""

_OFFSETS = "Pelton commits an offset only when every record below it is safe"
_PRODUCER = "the producer is always idempotent and waits for all replicas"
_LATE = "a score is never given up for being late; the worker is held back instead"
_CODE = "takes code, which settings cannot hold"

FORBIDDEN: Mapping[str, str] = MappingProxyType(
    {
        "acks": _PRODUCER,
        "auto.commit.enable": _OFFSETS,
        "auto.commit.interval.ms": _OFFSETS,
        "auto.offset.reset": "it is the setting stream.reset",
        "background_event_cb": _CODE,
        "delivery.timeout.ms": _LATE,
        "delivery.report.only.error": "every delivery report is needed, also of what went well",
        "dr_cb": _CODE,
        "dr_msg_cb": _CODE,
        "enable.auto.commit": _OFFSETS,
        "enable.auto.offset.store": _OFFSETS,
        "enable.gapless.guarantee": _PRODUCER,
        "enable.idempotence": _PRODUCER,
        "enable.partition.eof": "the end of a partition is no event",
        "enabled_events": _CODE,
        "error_cb": _CODE,
        "group.id": "it is the setting stream.group",
        "group.instance.id": "it is the setting stream.static_id",
        "isolation.level": "only committed records are read",
        "logger": _CODE,
        "message.send.max.retries": _LATE,
        "message.timeout.ms": _LATE,
        "metadata.broker.list": "give it as bootstrap.servers",
        "oauth_cb": _CODE,
        "offset.store.method": _OFFSETS,
        "on_commit": _CODE,
        "on_delivery": _CODE,
        "queue.buffering.max.kbytes": "it is the setting queue.max_bytes",
        "request.required.acks": _PRODUCER,
        "retries": _LATE,
        "stats_cb": _CODE,
        "throttle_cb": _CODE,
        "test.mock.broker.rtt": "a mock cluster keeps no promise",
        "test.mock.num.brokers": "a mock cluster keeps no promise",
        "topic.blacklist": "input topics are the setting stream.topics",
        "transactional.id": "Pelton names its own transactions",
    }
)
"""Properties that may not be set, each with the reason."""

OFTEN_USED = (
    "auto.offset.reset", "bootstrap.servers", "broker.address.family", "client.id", "client.rack",
    "compression.codec", "compression.type", "connections.max.idle.ms", "debug", "delivery.timeout.ms",
    "fetch.max.bytes", "fetch.message.max.bytes", "fetch.min.bytes", "fetch.queue.backoff.ms",
    "fetch.wait.max.ms", "group.protocol", "group.remote.assignor", "heartbeat.interval.ms", "linger.ms",
    "max.in.flight.requests.per.connection", "max.partition.fetch.bytes", "max.poll.interval.ms",
    "message.max.bytes", "message.timeout.ms", "metadata.max.age.ms", "partition.assignment.strategy",
    "partitioner", "queue.buffering.max.kbytes", "queue.buffering.max.messages",
    "queued.max.messages.kbytes", "queued.min.messages", "receive.message.max.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries", "retry.backoff.ms",
    "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.mechanism", "sasl.mechanisms",
    "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.method",
    "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url", "sasl.password", "sasl.username",
    "security.protocol", "session.timeout.ms", "socket.keepalive.enable", "socket.timeout.ms",
    "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
    "ssl.endpoint.identification.algorithm", "ssl.key.location", "ssl.key.password", "ssl.key.pem",
    "ssl.keystore.location", "ssl.keystore.password", "statistics.interval.ms",
    "topic.metadata.refresh.interval.ms",
)  # fmt: skip
"""Properties people set most, to find the one that was meant."""

NAME_A_FILE: Final = frozenset(
    {
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.file",
    }
)
"""Properties that end with `file` and hold the name of one."""

_SECRET: Final = re.compile(r"pas+w|passphrase|secret|credential|\.pem$|sasl\.oauthbearer\.|jaas|token(?!\.endpoint)")
_MASK: Final = "********"

DEFAULT_SERVERS: Final = "127.0.0.1:9092"
"""Where a broker is looked for when the settings do not say."""


def is_secret(name: str) -> bool:
    """Tell whether the value of the property `name` must not be shown."""
    return _SECRET.search(name.lower()) is not None


class KafkaProperties(dict[str, KafkaValue]):
    """librdkafka properties by name; a dict that shows no secret when printed."""

    def redacted(self) -> dict[str, KafkaValue]:
        """Return the properties with every secret masked."""
        return {name: _MASK if is_secret(name) else value for name, value in self.items()}

    def __repr__(self) -> str:
        return repr(self.redacted())

    __str__ = __repr__

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        values = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        return core_schema.no_info_after_validator_function(
            _from_yaml,
            values,
            serialization=core_schema.plain_serializer_function_ser_schema(_dump, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
            "propertyNames": {"not": {"enum": list(FORBIDDEN)}},
        }


def _from_yaml(raw: dict[str, Any]) -> KafkaProperties:
    values = {"bootstrap.servers": DEFAULT_SERVERS} | {name: _value(raw[name]) for name in raw}
    if isinstance(protocol := values.get("group.protocol"), str):
        values["group.protocol"] = protocol.lower()  # as librdkafka reads it, and as we look at it
    return KafkaProperties(values)


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value


def _dump(properties: KafkaProperties, info: SerializationInfo) -> dict[str, KafkaValue]:
    reveal = isinstance(info.context, dict) and info.context.get("secrets") is True
    return dict(properties) if reveal else properties.redacted()
