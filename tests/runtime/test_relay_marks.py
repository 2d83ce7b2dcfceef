"""How a worker's end leaves its marks: a death of the model's counts, any other end does not."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pelton import handover
from pelton.consumers.assignment import Assignment
from pelton.consumers.batcher import Batcher
from pelton.consumers.offsets import Offsets
from pelton.consumers.poison import Mark
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.deadline import Deadline
from pelton.errors import DeliveryFailed, DeviceLost, OutOfMemory
from pelton.handover import Handover
from pelton.loop import Loop
from pelton.metrics import Metrics
from pelton.models.package import load_package
from pelton.producers.dead_letters import DeadLetters
from pelton.producers.outputs import OutputRules, Outputs
from pelton.producers.sink import Sink
from pelton.producers.window import WindowLimits
from pelton.progress import Progress
from pelton.relay import Relay
from pelton.schemas.score import ScoreEncoder
from pelton.testing import FakeKafka

DOUBLER = Path(__file__).parents[1] / "models" / "packages" / "doubler" / "1"
MARKED = Mark(1, 1).note(0)


class Scripted:
    """A scorer that does what it is told to."""

    def __init__(self) -> None:
        self.does: Callable[[Sequence[Any]], list[Any]] = lambda events: [2 * event.x for event in events]

    def score(self, events: Sequence[Any]) -> list[Any]:
        return self.does(events)


@pytest.fixture
def kafka() -> FakeKafka:
    made = FakeKafka({"in": 1, "out": 1, "dead": 1})
    made.write("in", b'{"x": 3}')
    return made


@pytest.fixture
def scorer() -> Scripted:
    return Scripted()


@pytest.fixture
def relay(kafka: FakeKafka, scorer: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    monkeypatch.setattr(handover, "REVOKE_BUDGET_S", 0.05)
    source = Source({"group.id": "g"}, ["in"], Assignment(), max_records=10, make_consumer=kafka.consumer)
    outputs = Outputs(OutputRules("out", 1), ScoreEncoder("doubler", "1"))
    batcher, offsets = Batcher(max_size=4, max_wait_s=0, max_records=16, max_bytes=1000), Offsets()
    loop = Loop(
        source=source,
        codec=load_package(str(DOUBLER)).codec(),
        batcher=batcher,
        scorer=scorer,
        sink=Sink({}, outputs, DeadLetters("dead", "doubler"), limits=WindowLimits(100), make_producer=kafka.producer),
        offsets=offsets,
        trials=Trials(source.ledger, batcher, offsets, 3),
        metrics=Metrics(),
        progress=Progress.null(),
    )
    source.join(Handover(loop, lambda: None, lambda: None))
    relay = Relay(loop)
    yield relay
    relay.drain(Deadline.after(0.05))


def raising(error: Exception) -> Callable[[Sequence[Any]], list[Any]]:
    def score(_: Sequence[Any]) -> list[Any]:
        raise error

    return score


def note(kafka: FakeKafka) -> str:
    return kafka.committed("g", ("in", 0)).metadata


@pytest.mark.parametrize("error", [DeviceLost("gone"), RuntimeError("a fault of ours")])
def test_b03_a_worker_that_ends_with_the_record_in_the_model_leaves_its_mark(kafka, scorer, relay, error):
    scorer.does = raising(error)
    with pytest.raises(type(error)):
        relay.run(threading.Event())
    assert note(kafka) == MARKED


@pytest.mark.parametrize("error", [OutOfMemory("full"), DeliveryFailed("refused")])
def test_an_end_that_no_record_is_to_blame_for_takes_the_mark_back(kafka, scorer, relay, error):
    scorer.does = raising(error)
    with pytest.raises(type(error)):
        relay.run(threading.Event())
    assert note(kafka) == ""


def test_a_drain_takes_back_the_mark_of_records_that_were_dropped(kafka, scorer, relay):
    stopping = threading.Event()
    in_model, go_on = threading.Event(), threading.Event()

    def slow(events: Sequence[Any]) -> list[Any]:
        in_model.set()
        go_on.wait(5)
        return [2 * event.x for event in events]

    scorer.does = slow
    running = threading.Thread(target=relay.run, args=(stopping,))
    running.start()
    assert in_model.wait(5)
    kafka.write("in", b'{"x": 4}')
    assert note(kafka) == MARKED
    stopping.set()
    running.join(5)
    go_on.set()
    assert relay.drain(Deadline.after(5))
    assert (kafka.committed("g", ("in", 0)).offset, note(kafka)) == (1, "")


@pytest.mark.parametrize(("stall_s", "left"), [(0.0, MARKED), (60.0, "")])
def test_b03_a_drain_that_cannot_wait_for_the_model_leaves_the_mark_of_a_hang_and_of_no_long_batch(
    kafka, scorer, relay, stall_s, left
):
    """The record may be one that the model never comes back from; a long batch is no reason to suspect it."""
    relay._stall_s = stall_s
    stopping = threading.Event()
    in_model, go_on = threading.Event(), threading.Event()
    scorer.does = lambda _: [in_model.set(), go_on.wait(5)]
    running = threading.Thread(target=relay.run, args=(stopping,))
    running.start()
    assert in_model.wait(5)
    assert note(kafka) == MARKED
    stopping.set()
    running.join(5)
    assert not relay.drain(Deadline.after(0.05))
    found = note(kafka)
    go_on.set()
    assert found == left
