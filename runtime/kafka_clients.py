"""librdkafka's properties for a worker: what the settings pass through, under what Pelton promises."""

import logging
from typing import Any

from pelton.schemas.settings import Settings
from pelton.schemas.settings_groups import Stream

IN_FLIGHT_BATCHES = 16

# Lost connections and a client's own end reach us as errors and are logged once for each change; what the client says
# of them would be repeated for ever.
_REPEATED = ("FAIL ", "ERROR ", "CONFWARN ", "FATAL ")

librdkafka_log = logging.getLogger("pelton.librdkafka")
librdkafka_log.addFilter(lambda record: not record.getMessage().startswith(_REPEATED))

# A broker that is back is tried again within a second; the default is up to ten after a long absence.
_CONNECTION = {"reconnect.backoff.max.ms": 1_000}
_CONSUMER = {
    **_CONNECTION,
    "partition.assignment.strategy": "cooperative-sticky",
    # The default of 64 MiB a partition would let a worker with many partitions grow without bound.
    "queued.max.messages.kbytes": 16 * 1024,
    # Once that much is fetched ahead, look again soon: the default of a second leaves a fast worker without records.
    "fetch.queue.backoff.ms": 20,
    "topic.metadata.refresh.interval.ms": 30_000,
    # A coordinator that is down is looked up again after a tenth of this: a minute by default.
    "coordinator.query.interval.ms": 10_000,
    # Sends, commits and heartbeats are small: waiting to fill a packet only adds latency.
    "socket.nagle.disable": True,
}
_PRODUCER = {
    **_CONNECTION,
    "linger.ms": 1,
    # The Java client's choice for a key, so that a topic written by both keeps its keys together.
    "partitioner": "murmur2_random",
    # The bound is the sink's own (queue.max_bytes), which waits where librdkafka's refuses.
    "queue.buffering.max.kbytes": 2_147_483_647,
    "socket.nagle.disable": True,
}
# Never give a score up for being old: what cannot be delivered holds the worker back instead.
_PATIENT = {"message.timeout.ms": 0}
# Somebody waits for each answer, and after a while nobody does any more.
_ANSWERS = {
    "linger.ms": 0,
    "message.timeout.ms": 30_000,
    # Topics are looked up first, so one that is not known is gone: the default holds its answers for half a minute, and
    # with many of them everybody's requests.
    "topic.metadata.propagation.max.ms": 5_000,
}
# A message can be no older than its transaction; what times out is sent again in the next one.
_TRANSACTIONAL = {"transaction.timeout.ms": 10_000}


def consumer_properties(settings: Settings, stream: Stream, index: int) -> dict[str, Any]:
    """Return the properties of a worker's consumer; what breaks the delivery promise cannot be set."""
    properties = _member(settings, stream.group) | {"auto.offset.reset": stream.reset}
    if stream.static_id:
        properties["group.instance.id"] = f"{stream.static_id}-{index}"
    return properties


def request_consumer_properties(settings: Settings, group: str) -> dict[str, Any]:
    """Return the properties of a worker's consumer of requests, a member of a group of its own."""
    return _member(settings, group) | {"auto.offset.reset": "earliest"}


def _member(settings: Settings, group: str) -> dict[str, Any]:
    properties: dict[str, Any] = {
        **_CONSUMER,
        **settings.kafka,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": False,
        "isolation.level": "read_committed",
        "logger": librdkafka_log,
    }
    if properties.get("group.protocol") == "consumer":
        properties.pop("partition.assignment.strategy")
    return properties


def reply_producer_properties(settings: Settings) -> dict[str, Any]:
    """Return the properties of the producer of answers: idempotent, and no part of any transaction."""
    return {
        **_PRODUCER,
        **_ANSWERS,
        **settings.kafka,
        "enable.idempotence": True,
        "acks": "all",
        "logger": librdkafka_log,
    }


def producer_properties(
    settings: Settings, max_bytes: int = 2**31 - 1, transactional_id: str | None = None
) -> dict[str, Any]:
    """Return the properties of a worker's producer: idempotent, acknowledged by all replicas, transactional by an id.

    A broker refuses a whole batch of records beyond the topic's `max.message.bytes`, so batches stay below `max_bytes`.
    """
    batch_bytes = min(int(settings.kafka.get("batch.size", 1_000_000)), max_bytes)
    promised = {"batch.size": batch_bytes, "enable.idempotence": True, "acks": "all", "logger": librdkafka_log}
    if transactional_id is None:
        return {**_PRODUCER, **_PATIENT, **settings.kafka, **promised}
    return {**_PRODUCER, **_TRANSACTIONAL, **settings.kafka, **promised, "transactional.id": transactional_id}


def client_properties(settings: Settings) -> dict[str, Any]:
    """Return the properties of a client that only asks questions."""
    return {**_CONNECTION, **settings.kafka, "logger": librdkafka_log}


def max_message_bytes(settings: Settings) -> int:
    """Return the largest message that the client sends."""
    return int(settings.kafka.get("message.max.bytes", 1_000_000))


def max_in_flight(settings: Settings, properties: dict[str, Any]) -> int:
    """Return how many scores may be on their way at once, so that the producer's own queue is never full."""
    wanted = IN_FLIGHT_BATCHES * settings.batch.max_size
    limit = int(properties.get("queue.buffering.max.messages", 100_000))
    # 0 means no limit. One place stays free: a refused score is still counted while its dead letter is produced.
    return min(wanted, max(1, limit - 1)) if limit else wanted
