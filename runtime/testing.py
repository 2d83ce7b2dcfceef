"""For your tests: score events with a model package in this process, and stand in for Kafka."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pelton.consumers.batch import Batch, CloseReason
from pelton.models.package import ModelPackage, load_package
from pelton.outcomes import join_outcomes, scorable
from pelton.schemas.identity import event_ids, event_times
from pelton.schemas.records import Records
from pelton.schemas.rejection import TOMBSTONE, Rejection, Tombstone
from pelton.schemas.score import ScoreEncoder
from pelton.testing_consumer import FakeConsumer
from pelton.testing_kafka import FakeKafka, UnreadableMessage, make_message
from pelton.testing_producer import FakeProducer

__all__ = [
    "TOMBSTONE",
    "FakeConsumer",
    "FakeKafka",
    "FakeProducer",
    "Rejection",
    "UnreadableMessage",
    "make_message",
    "score_events",
]

Event = Mapping[str, Any] | bytes | str | None


def score_events(
    package: str | Path | ModelPackage, events: Sequence[Event], *, device: str = "cpu", batch_size: int = 256
) -> list[Any]:
    """Return for each event, in order, what its record would lead to: a score, a `Rejection`, or `TOMBSTONE`.

    The package is loaded, warmed and checked by its golden cases; then the events take the road of a worker: decoded
    by the input schema, scored in batches, written as JSON. A score comes back as a reader of the sink gets it. An
    event is a mapping, the JSON of one, any other bytes to see them refused, or None. Needs `pelton[serve]`.

    Raises what a worker ends with: PackageError, SettingsError, ModelError.

        payment = {"payment_id": "a", "amount": 3.2, "payments_today": 1}
        assert score_events("examples/payment-risk/1", [payment])[0] < 0.5
    """
    # Only here: whoever tests with the fakes alone needs no torch.
    from pelton.metrics import Metrics  # noqa: PLC0415
    from pelton.models.scorer import Scorer  # noqa: PLC0415

    if not isinstance(package, ModelPackage):
        package = load_package(package)
    scorer = Scorer(package.load(device), package, batch_size, fixed_shape=False, metrics=Metrics())
    scorer.start()
    outcomes: list[Any] = []
    for first in range(0, len(events), batch_size):
        records = _records(package, events[first : first + batch_size], first)
        batch = Batch([records], CloseReason.SIZE, 0.0)
        for block, results in join_outcomes(batch, scorer.score(scorable(batch))):
            outcomes += _as_read(package, block, results)
    return outcomes


def _records(package: ModelPackage, events: Sequence[Event], first: int) -> Records:
    values = [_value(event) for event in events]
    messages = [make_message(value, offset=offset) for offset, value in enumerate(values, first)]
    return Records(
        topic="events",
        partition=0,
        epoch=1,
        messages=messages,
        offsets=list(range(first, first + len(values))),
        events=list(package.codec().decode(values)),
        n_bytes=sum(map(len, messages)),
        arrived_s=time.monotonic(),
    )


def _value(event: Event) -> bytes | None:
    if event is None or isinstance(event, bytes):
        return event
    return event.encode() if isinstance(event, str) else msgspec.json.encode(event)


def _as_read(package: ModelPackage, records: Records, outcomes: list[Any]) -> list[Any]:
    """Replace each score by what it is once it has been through JSON."""
    rows = [row for row, outcome in enumerate(outcomes) if not isinstance(outcome, (Rejection, Tombstone))]
    scored, codec = records.select(rows), package.codec()
    written = ScoreEncoder(package.name, package.version_address).encode(
        scored,
        event_ids(scored, codec.id_attribute),
        [outcomes[row] for row in rows],
        event_times(scored, codec.time_attribute),
    )
    for row, value in zip(rows, written, strict=True):
        outcomes[row] = value if isinstance(value, Rejection) else msgspec.json.decode(value)["score"]
    return outcomes
