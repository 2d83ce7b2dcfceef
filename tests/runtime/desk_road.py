"""What answers requests in one worker, as it is assembled; only Kafka, and the clock of deadlines, are fakes."""

import json
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pelton import request_assembly
from pelton.deadline import Deadline
from pelton.engine import Engine
from pelton.handover import Handover
from pelton.metrics import Metrics
from pelton.models.package import load_package
from pelton.models.scorer import Scorer
from pelton.producers.replies import Replies
from pelton.progress import Progress
from pelton.schemas.settings import Settings
from pelton.testing import FakeKafka

PACKAGES = Path(__file__).parent.parent / "models" / "packages"
TOPICS = {"asked": 2, "answers": 2, "team-a": 1, "in": 4, "out": 4, "dead": 1}
REQUESTS = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers", "team-*"]}
Source = request_assembly.Source


class Clock:
    """The clock that deadlines are read by: the real one, and what the test adds to it."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s

    def time(self) -> float:
        return time.time() + self.ahead_s


class DeskRoad:
    """The desk of one worker on the topic `asked`, with two partitions; answers may go to `answers` and `team-*`.

    The model is one of the packages that the model tests use, or that of the stream's `walk` beside it.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        kafka: FakeKafka,
        package: str = "doubler",
        /,
        *,
        walk: Any = None,
        join: bool = True,
        requests: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.kafka, self.clock = kafka, Clock()
        kafka.patience_s = 0.001
        monkeypatch.setattr("pelton.consumers.calls.time", self.clock)
        monkeypatch.setattr(request_assembly, "Catalog", lambda *_: self)
        monkeypatch.setattr(request_assembly, "Source", partial(Source, make_consumer=kafka.consumer))
        monkeypatch.setattr(request_assembly, "Replies", partial(Replies, make_producer=kafka.producer))
        stream = {"topics": ["in"], "group": "g", "sink": "out", "dead_letter": "dead"}
        settings["batch"] = {"max_wait_ms": 0, **settings.get("batch", {})}
        asked = {**REQUESTS, "max_wait_ms": 0, **(requests or {})}
        made = Settings(model=package, stream=stream, requests=asked, **settings)
        loaded = load_package(PACKAGES / package / "1")
        loop = walk.loop if walk else None
        self.metrics = loop.metrics if loop else Metrics()
        self.model: Any = walk.model if walk else loaded.load("cpu")
        scorer = loop.scorer if loop else _scorer(self.model, loaded, made, self.metrics)
        assert made.requests is not None
        progress = loop.progress if loop else Progress.null()
        engine = Engine(loaded, self.model, scorer, self.metrics, progress)
        self.desk = request_assembly.assemble_desk(made, made.requests, engine)
        self.consumer, self.producer = kafka.consumers[-1], kafka.producers[-1]
        self._know("answers")
        if join:
            self.desk.source.join(Handover(self.desk, lambda: None, lambda: None))

    def describe(self, names: Iterable[str]) -> dict[str, int]:
        """Describe reply topics as the catalog does."""
        return {name: len(self.kafka.topics[name]) for name in names if name in self.kafka.topics}

    def _know(self, topic: str) -> None:
        """Have a reply topic looked up, so that answers to it leave at once."""
        known = threading.Event()
        self.desk.sink.topics.when_known(topic, lambda _: known.set())
        assert known.wait(20)

    def ask(
        self,
        inputs: Any,
        name: str = "a",
        *,
        at: int = 0,
        topic: str | None = "answers",
        to: int | None = 0,
        within_s: float | None = None,
        cancel: bool = False,
        **body: Any,
    ) -> None:
        """Write a request: bytes as they are, a number or a list of numbers as events, the rest as inputs."""
        headers: list[tuple[str, bytes | None]] = [("kafka_correlationId", name.encode())]
        if topic is not None:
            headers.append(("kafka_replyTopic", topic.encode()))
        if to is not None:
            headers.append(("kafka_replyPartition", to.to_bytes(4, "big")))
        if within_s is not None:
            headers.append(("pelton-deadline", b"%d" % round((self.clock.time() + within_s) * 1000)))
        if cancel:
            headers.append(("pelton-cancel", b""))
        value = inputs if isinstance(inputs, bytes) else json.dumps({"inputs": _events(inputs), **body}).encode()
        self.kafka.write("asked", value, partition=at, headers=headers)

    def cancel(self, name: str = "a", **options: Any) -> None:
        self.ask(b"", name, cancel=True, **options)

    def turn(self) -> None:
        self.desk.turn(0)

    def score(self) -> None:
        """Score all that is due."""
        while batch := self.desk.batcher.take():
            self.desk.score(batch)

    def walk(self, turns: int = 1) -> None:
        """Poll and score by turns, until the answers are delivered or given up."""
        for _ in range(turns):
            self.turn()
            self.score()
        assert self.desk.sink.flush(Deadline.after(20))
        self.desk.settle()

    def commit(self) -> None:
        self.desk.commit(wait=True)

    def committed(self, partition: int = 0) -> int | None:
        """The offset that the next owner of a partition of `asked` begins at."""
        found = self.kafka.committed("rg", ("asked", partition))
        return None if found is None else found.offset

    def replies(self, topic: str = "answers") -> list[tuple[str, bytes]]:
        """Id and value of the answers in a topic, partition after partition, as they lie there."""
        found = [(dict(message.headers()), message.value()) for message in self.kafka.read(topic)]
        return [(names["kafka_correlationId"].decode(), value) for names, value in found]

    def answers(self, topic: str = "answers") -> list[tuple[str, str, Any]]:
        """Id, code, and data or error of the answers in a topic."""
        read = [(name, json.loads(value, parse_constant=pytest.fail)) for name, value in self.replies(topic)]
        return [(name, value["code"], value.get("data", value.get("error"))) for name, value in read]

    def metric(self, name: str) -> dict[str, float]:
        """Values of a metric by the value of its label, those of zero left out."""
        lines = self.metrics.exposition().splitlines()
        found = [line.rpartition(" ") for line in lines if line.startswith((f"pelton_{name} ", f"pelton_{name}{{"))]
        return {label.partition('"')[2].rstrip('"}'): float(value) for label, _, value in found if float(value)}

    @property
    def scored(self) -> int:
        """How many events the model has seen."""
        return sum(self.model.batches)


def _scorer(model: Any, package: Any, settings: Settings, metrics: Metrics) -> Scorer:
    return Scorer(model, package, settings.batch.max_size, fixed_shape=False, metrics=metrics)


def _events(inputs: Any) -> Any:
    if isinstance(inputs, list):
        return [_events(each) for each in inputs]
    return {"x": inputs} if isinstance(inputs, int | float) else inputs
