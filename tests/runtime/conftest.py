"""A Java that is not Java, for the tests of the local Kafka; and a worker's loop on Kafka in memory."""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pelton import local_kafka
from pelton.deadline import Deadline
from pelton.kafka_java import Java
from pelton.local_kafka import LocalKafka
from pelton.testing import FakeKafka

FAKE_JAVA = """#!{python} -IS
import sys, time
if "kafka.tools.StorageTool" in sys.argv:
    sys.exit({format_exit})
{run}
"""
FakeJava = Callable[..., Java]


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJava:
    def make(run: str = "time.sleep(300)", format_exit: int | str = 0) -> Java:
        script = tmp_path / "java"
        script.write_text(FAKE_JAVA.format(python=sys.executable, format_exit=repr(format_exit), run=run))
        script.chmod(0o755)
        java = Java(str(script), "jars")
        monkeypatch.setattr(Java, "ready", lambda *_: java)
        return java

    return make


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_kafka, "await_ready", lambda *_: None)


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[LocalKafka]:
    kafka = LocalKafka(tmp_path / "kafka")
    yield kafka
    kafka.kill()


PACKAGES = Path(__file__).parent.parent / "models" / "packages"


class Road:
    """The loop of one worker as it is assembled, from the topic `in` to `out` and `dead`; only Kafka is a fake.

    The model is one of the packages that the model tests use; `doubler` doubles `x`.
    """

    def __init__(self, kafka: FakeKafka, package: str, join: bool, settings: dict[str, Any]) -> None:
        from pelton.assembly import assemble
        from pelton.engine import Engine
        from pelton.handover import Handover
        from pelton.metrics import Metrics
        from pelton.models.package import load_package
        from pelton.models.scorer import Scorer
        from pelton.progress import Progress
        from pelton.schemas.settings import Settings
        from pelton.schemas.topic_limits import ANYTHING

        self.kafka = kafka
        stream = {"topics": ["in"], "group": "g", "sink": "out", "dead_letter": "dead", **settings.pop("stream", {})}
        transactional_id, start = settings.pop("transactional_id", "t"), settings.pop("start", True)
        batch = {"max_wait_ms": 0, **settings.pop("batch", {})}
        self.settings = Settings(model=package, stream=stream, batch=batch, **settings)
        loaded, metrics = load_package(PACKAGES / package / "1"), Metrics()
        self.model: Any = loaded.load("cpu")
        scorer = Scorer(self.model, loaded, self.settings.batch.max_size, fixed_shape=False, metrics=metrics)
        assert self.settings.stream is not None
        self.loop = assemble(
            self.settings,
            self.settings.stream,
            Engine(loaded, self.model, scorer, metrics, Progress.null()),
            index=0,
            sink_partitions=4,
            limits={"out": ANYTHING, "dead": ANYTHING},
            transactional_id=transactional_id if self.settings.delivery == "exactly-once" else None,
        )
        self.consumer = self.kafka.consumers[-1]
        if self.loop.sink.transactional and start:
            self.loop.sink.start(Deadline.after(5))
        self.joined = 0
        self.moving = 0
        self.handover = Handover(self.loop, self._count_join, self._count_move)
        if join:
            self.loop.source.join(self.handover)

    def _count_join(self) -> None:
        self.joined += 1

    def _count_move(self) -> None:
        self.moving += 1

    def write(self, *values: Any, partition: int = 0, **options: Any) -> None:
        """Write events: bytes and None as they are, a number as `{"x": number}`, the rest as JSON."""
        for value in values:
            given = {"x": value} if isinstance(value, float | int) else value
            raw = given if isinstance(given, bytes) or given is None else json.dumps(given).encode()
            self.kafka.write("in", raw, partition=partition, **options)

    def walk(self, turns: int = 1) -> None:
        """Poll and score by turns, as a worker does, until no batch is due after the last turn."""
        for _ in range(turns):
            self.loop.turn(0)
            while batch := self.loop.batcher.take():
                self.loop.score(batch)
        self.loop.settle()

    def commit(self) -> None:
        """Commit what is safe; a transactional sink makes safe what was written, and commits it, in one."""
        if self.loop.sink.transactional:
            self.loop.sink.commit(Deadline.after(5))
            self.loop.settle()
        self.loop.commit(wait=True)

    def committed(self, partition: int = 0) -> int | None:
        """The offset that the next owner of a partition of `in` begins at."""
        found = self.kafka.committed("g", ("in", partition))
        return None if found is None else found.offset

    @property
    def scores(self) -> dict[int, list[tuple[int, Any]]]:
        """Offset and score by source partition, in the order in which they lie in the sink."""
        found: dict[int, list[tuple[int, Any]]] = {}
        for message in self.kafka.read("out"):
            value = json.loads(message.value())
            found.setdefault(value["source"]["partition"], []).append((value["source"]["offset"], value["score"]))
        return found

    @property
    def dead(self) -> list[tuple[int, int, str]]:
        """Partition, offset and code of the dead letters."""
        found = [dict(message.headers()) for message in self.kafka.read("dead")]
        return [
            (
                int(names["__connect.errors.partition"]),
                int(names["__connect.errors.offset"]),
                names["pelton-error-code"].decode(),
            )
            for names in found
        ]


@pytest.fixture
def road(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Road]:
    """`road("doubler", manual=False, join=True, batch={…}, stream={…})` assembles a worker's loop.

    `beside` another road it is a second worker of the same group, or the first one's successor.
    """
    from pelton import assembly

    Source, Sink, ExactSink = assembly.Source, assembly.Sink, assembly.ExactSink  # noqa: N806

    def make(
        package: str = "doubler",
        *,
        manual: bool = False,
        join: bool = True,
        beside: Any = None,
        **settings: Any,
    ) -> Road:
        kafka = beside.kafka if beside else FakeKafka({"in": 4, "out": 4, "dead": 1}, manual=manual)
        monkeypatch.setattr(assembly, "Source", partial(Source, make_consumer=kafka.consumer))
        monkeypatch.setattr(assembly, "Sink", partial(Sink, make_producer=kafka.producer))
        monkeypatch.setattr(assembly, "ExactSink", partial(ExactSink, make_producer=kafka.producer))
        # Where a commit is in doubt, its offsets are asked for by a consumer of its own.
        monkeypatch.setattr("pelton.consumers.inquiry.Consumer", kafka.consumer)
        return Road(kafka, package, join, settings)

    return make


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`desk("doubler", manual=False, join=True, requests={…}, batch={…})` assembles what answers requests.

    `beside` another it is a second worker of the same group, or the first one's successor.
    """
    from .desk_road import TOPICS, DeskRoad

    def make(package: str = "doubler", *, manual: bool = False, beside: Any = None, **options: Any) -> DeskRoad:
        kafka = beside.kafka if beside else FakeKafka(TOPICS, manual=manual)
        return DeskRoad(monkeypatch, kafka, package, **options)

    return make


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on how long a thread waits before it looks again."""
    monkeypatch.setattr("pelton.relay.POLL_S", 0.01)
    monkeypatch.setattr("pelton.walker.POLL_S", 0.01)
