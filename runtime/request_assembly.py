"""How the parts that answer requests are put together."""

from pelton.assembly import POLL_RECORDS, one, size_of
from pelton.consumers.assignment import Assignment
from pelton.consumers.batch import Lane
from pelton.consumers.batcher import Batcher
from pelton.consumers.calls import Patience
from pelton.consumers.offsets import Offsets
from pelton.consumers.quota import Quota
from pelton.consumers.repeats import Repeats
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.desk import Desk
from pelton.engine import Engine
from pelton.kafka_clients import client_properties, reply_producer_properties, request_consumer_properties
from pelton.models.protocol import Model
from pelton.producers.replies import Replies
from pelton.producers.reply_topics import ReplyTopics
from pelton.reception import Reception
from pelton.schemas.request_codec import RequestCodec
from pelton.schemas.settings import Settings
from pelton.schemas.settings_groups import Requests
from pelton.topics import Catalog

LOOK_UP_S = 5.0
LEAST_QUEUED = 256
"""With room for a few requests only, partitions would be paused and fetched anew after every other small batch."""


def assemble_desk(settings: Settings, requests: Requests, engine: Engine) -> Desk:
    """Build what answers requests around a warm model; opens the connections, joins nothing yet."""
    package = engine.package
    source = Source(
        request_consumer_properties(settings, requests.group),
        list(requests.topics),
        Assignment(),
        max_records=POLL_RECORDS,
    )
    batcher, offsets = _batcher(settings, requests, engine.model), Offsets()
    repeats = Repeats(requests.repeats_s, requests.max_repeats, requests.max_repeat_bytes)
    topics = ReplyTopics(requests.reply_topics, Catalog(client_properties(settings), LOOK_UP_S).describe)
    versions = (package.manifest.version, package.version_address)
    served = {package.name, *(f"{package.name}@{version}" for version in versions)}
    quota = None if requests.calls_per_s is None else Quota(requests.calls_per_s)
    codec = RequestCodec(package.codec(), served, requests.max_inputs)
    return Desk(
        source=source,
        reception=Reception(codec, repeats, topics, engine.metrics, quota),
        patience=Patience(requests.deadline_s, requests.max_deadline_s, requests.clock_skew_s),
        batcher=batcher,
        scorer=engine.scorer,
        repeats=repeats,
        replies=Replies(reply_producer_properties(settings), topics, requests.topics),
        offsets=offsets,
        trials=Trials(source.ledger, batcher, offsets, settings.poison_starts),
        metrics=engine.metrics,
        progress=engine.progress,
        traces=engine.tracing.of(requests.group, package),
    )


def _batcher(settings: Settings, requests: Requests, model: Model) -> Batcher:
    batch, queue = settings.batch, settings.queue
    size = one if batch.max_cost is None else size_of(model)
    return Batcher(
        lane=Lane.REQUESTS,
        max_size=batch.max_size,
        max_wait_s=requests.max_wait_ms / 1000,
        max_records=queue.max_records or max(LEAST_QUEUED, 4 * batch.max_size),
        max_bytes=queue.max_bytes,
        # A request may hold many events, and it is those that fill a batch.
        cost_limit=batch.max_cost or batch.max_size,
        cost=lambda call: sum(map(size, call.events)),
    )
