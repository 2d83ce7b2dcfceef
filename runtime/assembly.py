"""How a worker's parts are put together."""

from collections.abc import Callable, Mapping
from typing import Any

from pelton.consumers.assignment import Assignment
from pelton.consumers.batcher import Batcher
from pelton.consumers.inquiry import Inquiry
from pelton.consumers.offsets import Offsets
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.engine import Engine
from pelton.kafka_clients import (
    client_properties,
    consumer_properties,
    max_in_flight,
    max_message_bytes,
    producer_properties,
)
from pelton.loop import Loop
from pelton.models.protocol import Model
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.exact_sink import ExactSink
from pelton.producers.membership import Membership
from pelton.producers.outputs import OutputRules, Outputs
from pelton.producers.sink import Sink
from pelton.producers.window import WindowLimits
from pelton.schemas.codec import EventCodec
from pelton.schemas.score import ScoreEncoder
from pelton.schemas.settings import Settings
from pelton.schemas.settings_groups import Stream
from pelton.schemas.topic_limits import TopicLimits

POLL_RECORDS = 512


def assemble(
    settings: Settings,
    stream: Stream,
    engine: Engine,
    *,
    index: int,
    sink_partitions: int,
    limits: Mapping[str, TopicLimits],
    transactional_id: str | None = None,
) -> Loop:
    """Build the road of events around a warm model; opens the connections, joins nothing yet."""
    package, codec = engine.package, engine.package.codec()
    exactly_once = settings.delivery == "exactly-once"
    rules = _rules(settings, stream, codec, sink_partitions, limits[stream.sink])
    properties = producer_properties(settings, min(each.max_bytes for each in limits.values()), transactional_id)
    source = Source(
        consumer_properties(settings, stream, index),
        list(stream.topics),
        Assignment(),
        max_records=max(POLL_RECORDS, settings.batch.max_size),
        transactional=exactly_once,
    )
    batcher, offsets = _batcher(settings, engine.model), Offsets()
    trials = Trials(source.ledger, batcher, offsets, settings.poison_starts)
    window = WindowLimits(max_in_flight(settings, properties), settings.queue.max_bytes)
    outputs = Outputs(rules, ScoreEncoder(package.name, package.version_address))
    letter_bytes = min(max_message_bytes(settings), limits[stream.dead_letter].max_bytes)
    dead_letters = DeadLetters(stream.dead_letter, f"{package.name}@{package.version_address}", letter_bytes)
    sink: Sink | ExactSink
    if exactly_once:
        membership = _membership(settings, stream.group, source, trials)
        sink = ExactSink(properties, outputs, dead_letters, membership, limits=window, ended=engine.metrics.ended)
    else:
        sink = Sink(properties, outputs, dead_letters, limits=window)
    return Loop(
        source=source,
        codec=codec,
        batcher=batcher,
        scorer=engine.scorer,
        sink=sink,
        offsets=offsets,
        trials=trials,
        metrics=engine.metrics,
        progress=engine.progress,
        traces=engine.tracing.of(stream.group, package),
    )


def _membership(settings: Settings, group: str, source: Source, trials: Trials) -> Membership:
    inquiry = Inquiry({**client_properties(settings), "group.id": group})
    return Membership(
        owns=source.assignment.owns, member=lambda: source.member, notes=trials.notes, committed=inquiry.offsets
    )


def _rules(
    settings: Settings, stream: Stream, codec: EventCodec, sink_partitions: int, limits: TopicLimits
) -> OutputRules:
    return OutputRules(
        topic=stream.sink,
        n_partitions=sink_partitions,
        key=stream.key,
        partition=stream.partition,
        timestamp=stream.timestamp,
        tombstones=stream.tombstones,
        max_bytes=max_message_bytes(settings),
        limits=limits,
        forward_headers=frozenset(stream.forward_headers),
        id_attribute=codec.id_attribute,
        time_attribute=codec.time_attribute,
    )


def _batcher(settings: Settings, model: Model) -> Batcher:
    batch, queue = settings.batch, settings.queue
    return Batcher(
        max_size=batch.max_size,
        max_wait_s=batch.max_wait_ms / 1000,
        max_records=queue.max_records or 4 * batch.max_size,
        max_bytes=queue.max_bytes,
        cost_limit=batch.max_cost,
        cost=size_of(model),
    )


def size_of(model: Model) -> Callable[[Any], int]:
    """Return what tells the cost of an event; a model that inherits from nothing need not, and all cost the same."""
    return getattr(model, "size", one)


def one(_event: Any) -> int:
    """Return the cost of an event where all cost the same."""
    return 1
