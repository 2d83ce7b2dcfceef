"""The class archive that halves a start: made once, used when whole, never in the way."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from pelton import kafka_archive
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_archive import ensure_archive
from pelton.kafka_java import Java

FakeJava = Callable[..., Java]

WRITES_ON_TERM = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("on", flush=True)
signal.sigwait([signal.SIGTERM])  # a handler would be deaf in the moment before a sleep begins
for option in sys.argv:
    if option.startswith("-XX:AOTCacheOutput="):
        open(option.split("=", 1)[1], "w").write("classes")
sys.exit(143)
"""


@pytest.fixture
def java(tmp_path: Path, fake_java: FakeJava, monkeypatch: pytest.MonkeyPatch) -> Java:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return dataclasses.replace(fake_java(WRITES_ON_TERM), archive=tmp_path / "classes.aot")


def _await_word(_bootstrap: str, _broker: object, log_file: Path, deadline: Deadline) -> None:
    while "on" not in log_file.read_text():
        assert not deadline.expired


def test_archive_is_made_once_and_then_used(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_archive, "await_ready", _await_word)
    assert java.archive
    assert not any("AOT" in option for option in java.command(256, "kafka.Kafka"))
    ensure_archive(java, Deadline.after(90))
    assert java.archive.read_text() == "classes"
    assert f"-XX:AOTCache={java.archive}" in java.command(256, "kafka.Kafka")
    java.archive.write_text("mine")
    ensure_archive(java, Deadline.after(90))
    assert java.archive.read_text() == "mine"


def test_failure_is_remembered_and_harmless(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    def fail(bootstrap: str, *_: object) -> None:
        attempts.append(bootstrap)
        raise LocalKafkaError("no memory")

    monkeypatch.setattr(kafka_archive, "await_ready", fail)
    for _ in range(2):
        ensure_archive(java, Deadline.after(90))
    assert len(attempts) == 1
    assert not any("AOT" in option for option in java.command(256, "kafka.Kafka"))


def test_archive_is_not_made_when_time_is_short(java: Java) -> None:
    ensure_archive(java, Deadline.after(30))
    assert java.archive
    assert not java.archive.exists()
