"""Names of the Kafka record headers that Pelton reads or writes."""

from typing import Final

CE_ID: Final = "ce_id"
"""CloudEvents id, Kafka binding in binary mode."""
CE_SOURCE: Final = "ce_source"
"""CloudEvents source, Kafka binding in binary mode."""
IDEMPOTENCY_KEY: Final = "idempotency-key"
"""Id of an event whose value has none."""
TRACEPARENT: Final = "traceparent"
"""W3C trace context."""
TRACESTATE: Final = "tracestate"
"""W3C trace context, vendor part."""

ERROR_TOPIC: Final = "__connect.errors.topic"
"""Dead letter: topic of the original record."""
ERROR_PARTITION: Final = "__connect.errors.partition"
"""Dead letter: partition of the original record, in digits."""
ERROR_OFFSET: Final = "__connect.errors.offset"
"""Dead letter: offset of the original record, in digits."""
ERROR_STAGE: Final = "__connect.errors.stage"
"""Dead letter: decode, prepare, forward, finish or produce."""
ERROR_EXCEPTION: Final = "__connect.errors.exception.class.name"
"""Dead letter: class name of the exception."""
ERROR_MESSAGE: Final = "__connect.errors.exception.message"
"""Dead letter: why, in words, bounded and printable."""
ERROR_CODE: Final = "pelton-error-code"
"""Dead letter: one of the closed set of codes."""
ATTEMPTS: Final = "pelton-attempts"
"""Dead letter: how often the record was tried, in digits."""
MODEL: Final = "pelton-model"
"""Dead letter: the model that refused the record, as name@version."""

DEAD_LETTER_HEADERS: Final = (
    ERROR_TOPIC,
    ERROR_PARTITION,
    ERROR_OFFSET,
    ERROR_STAGE,
    ERROR_EXCEPTION,
    ERROR_MESSAGE,
    ERROR_CODE,
    ATTEMPTS,
    MODEL,
)
"""Every header Pelton adds to a dead letter, in the order it adds them."""

CORRELATION_ID: Final = "kafka_correlationId"
"""Request and reply: opaque bytes that tell whose answer it is; Spring Kafka's name."""
REPLY_TOPIC: Final = "kafka_replyTopic"
"""Request: topic that the answer goes to, in UTF-8; Spring Kafka's name."""
REPLY_PARTITION: Final = "kafka_replyPartition"
"""Request: partition of that topic, a big-endian int32; without it, any. Spring Kafka's name."""
DEADLINE: Final = "pelton-deadline"
"""Request: milliseconds since the epoch after which the caller no longer waits, in digits."""
PRIORITY: Final = "pelton-priority"
"""Request: how urgent it is among requests, a digit from 0 to 9; 4 without it, as for JMS."""
CANCEL: Final = "pelton-cancel"
"""Request: whatever its value, the earlier request of the same id and reply address is no longer wanted."""
