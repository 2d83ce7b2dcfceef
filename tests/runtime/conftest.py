"""A Java that is not Java, for the tests of the local Kafka."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pelton import local_kafka
from pelton.kafka_java import Java
from pelton.local_kafka import LocalKafka

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
