"""The groups of settings: small value objects, each setting once, with its default and its sentence."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pelton.schemas.headers import TRACEPARENT, TRACESTATE
from pelton.schemas.settings_types import TOPIC_NAME, Count, Name, Names, Seconds, Topic, Topics, no_boolean


class Group(BaseModel):
    """A group of settings: fixed once made, and closed to names it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _dead_letters_of(so_far: dict[str, Any]) -> str:
    return f"{so_far['sink']}-dead-letters"


class Stream(Group):
    """From which topics events come and where scores go."""

    topics: Topics = Field(description="Input topics; all are scored by the same model.")
    group: Name = Field(description="Consumer group; the committed offsets belong to it.")
    static_id: Name | None = Field(
        default=None,
        description="Static membership: stem of the members' `group.instance.id`, to which each worker adds its "
        "number: a worker that was killed takes its partitions back as soon as it is there again; without it, they "
        "wait for `session.timeout.ms` (45 s). Must differ between processes of one group: else the first one ends "
        "with exit code 4, or, with `group.protocol: consumer`, the second one waits for it.",
    )
    sink: Topic = Field(description="Topic that the scores are written to.")
    dead_letter: Topic = Field(
        default_factory=_dead_letters_of,
        description="Topic for events that cannot be scored; by default the sink's name and `-dead-letters`.",
    )
    reset: Literal["earliest", "latest", "error"] = Field(
        default="earliest",
        description="Where a group without a committed offset begins (`auto.offset.reset`); the end that `latest` "
        "finds is committed at once, and partitions added later begin at their first record.",
    )
    key: Literal["event-id", "position", "input-key"] = Field(
        default="event-id",
        description="Key of a score: the event's id; `topic/partition/offset`; or the event's own key, which makes "
        "the sink a table of the latest score per entity.",
    )
    partition: Literal["source", "key"] = Field(
        default="source",
        description="Sink partition of a score: the source partition modulo the sink's partitions, which keeps "
        "the order of each input key; or by hash of the score's key.",
    )
    tombstones: Literal["skip", "pass"] = Field(
        default="skip",
        description="Null values: skipped and counted, or passed on to the sink (only with `key: input-key`).",
    )
    timestamp: Literal["producer", "event"] = Field(
        default="producer",
        description="Record timestamp of a score: the producer's clock, or the timestamp of the event's record, which "
        "retention may delete at once when it is old.",
    )
    forward_headers: Names = Field(
        default=(TRACEPARENT, TRACESTATE), description="Headers copied from the event where it has them."
    )


class Requests(Group):
    """Requests that are answered through Kafka, beside a stream, by the same model, or alone."""

    topics: Topics = Field(description="Topics that requests come from.")
    group: Name = Field(description="Consumer group of the requests; must differ from the stream's.")
    reply_topics: Annotated[Names, Field(min_length=1)] = Field(
        description="Topics that answers may go to: names, or patterns with `*`. A request that names another is "
        "neither scored nor answered."
    )
    deadline_s: Seconds = Field(
        default=10, description="How long a caller is taken to wait that does not say, since it sent the request."
    )
    max_deadline_s: Seconds = Field(
        default=600, description="Longest time that a request is worked on, whatever its caller says."
    )
    clock_skew_s: Annotated[float, Field(ge=0, le=3600), BeforeValidator(no_boolean)] = Field(
        default=1, description="How far callers' clocks may be behind the worker's before requests expire too early."
    )
    max_inputs: Count = Field(default=1000, description="Most events in one request.")
    max_wait_ms: Annotated[float, Field(ge=0, le=60_000), BeforeValidator(no_boolean)] = Field(
        default=2,
        description="Longest wait for more requests to share a batch, in milliseconds: callers wait along. "
        "`batch.max_wait_ms` is the stream's.",
    )
    stream_share: Annotated[float, Field(ge=0, le=0.9), BeforeValidator(no_boolean)] = Field(
        default=0.25, description="Share of the batches that stay the stream's while requests wait as well."
    )
    repeats_s: Seconds = Field(
        default=300, description="How long a caller's repeat of a request gets the same answer, uncomputed."
    )
    calls_per_s: Count | None = Field(
        default=None,
        description="Most requests of one caller (one reply topic and partition) in any second, by worker; null for no "
        "limit. Brokers can limit principals and client ids besides.",
    )
    max_repeats: Count = Field(default=100_000, description="Most requests remembered for that.")
    max_repeat_bytes: Count = Field(
        default=64 * 1024 * 1024, description="Most bytes of answers and correlation ids remembered for that."
    )

    @property
    def named_reply_topics(self) -> list[str]:
        """The reply topics that are names, not patterns."""
        return [name for name in self.reply_topics if re.fullmatch(TOPIC_NAME, name)]


class Batch(Group):
    """When a micro-batch closes."""

    max_size: Count = Field(default=256, description="Most events in a batch.")
    max_wait_ms: Annotated[float, Field(ge=0, le=60_000), BeforeValidator(no_boolean)] = Field(
        default=5, description="Longest wait for more events since the first one, in milliseconds."
    )
    fixed_shape: bool = Field(
        default=False,
        description="Pad every batch to `max_size`, so that an event's score is the same to the last bit.",
    )
    max_cost: Count | None = Field(
        default=None, description="Most cost in a batch, as the model's `size` counts it; null for no limit."
    )


class Queue(Group):
    """How much waits between polling and scoring, before polling is paused."""

    max_records: Count | None = Field(
        default=None,
        description="Most records waiting; null for four times `batch.max_size`, of requests at least 256.",
    )
    max_bytes: Count = Field(
        default=64 * 1024 * 1024, description="Most bytes waiting, in keys and values; headers do not count."
    )


class Sidecar(Group):
    """The HTTP server for probes, metrics and status."""

    host: Name = Field(default="127.0.0.1", description="Address to listen on; 0.0.0.0 for all.")
    port: Annotated[int, Field(ge=0, le=65_535), BeforeValidator(no_boolean)] = Field(
        default=8080, description="Port to listen on; 0 lets the system choose one."
    )


class Health(Group):
    """When a worker counts as stuck, and when as not ready."""

    stall_s: Seconds = Field(
        default=300, description="A worker without progress for so many seconds, with work to do, is replaced."
    )
    sink_failing_s: Seconds = Field(
        default=10, description="Not ready once deliveries have been failing for so many seconds."
    )
    lag_window_s: Seconds = Field(
        default=60, description="How far back the lag of a partition is looked at, in seconds, to tell how it gets on."
    )
    unready_after_s: Seconds = Field(
        default=10,
        description="Not ready once the lag of a partition has told of a stall or a stop for so many seconds.",
    )
    ready_after_s: Seconds = Field(
        default=30, description="Ready again once no lag has told of a stall or a stop for so many seconds."
    )


class Restart(Group):
    """How a worker that ended is started again."""

    first_s: Seconds = Field(default=1, description="Wait before the first restart, in seconds; doubled each time.")
    max_s: Seconds = Field(default=30, description="Longest wait before a restart, in seconds.")


class Tracing(Group):
    """Spans by OpenTelemetry."""

    enabled: bool = Field(
        default=False,
        description="Make a span for each batch, and for each answer whose caller traces; needs `pelton[otel]`. Where "
        "they go and which are sampled is told by the OTEL_* variables.",
    )


class Log(Group):
    """What is logged, and how."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged; one line per batch is at debug."
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="For people or for machines; auto is console on a terminal and json elsewhere."
    )
