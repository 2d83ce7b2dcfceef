"""`pelton kafka` from the command line."""

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pelton import kafka_config, kafka_process
from pelton.cli_kafka import app
from pelton.kafka_java import Java
from pelton.local_kafka import LocalKafka

FakeJava = Callable[..., Java]


@pytest.fixture(autouse=True)
def _logs_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.cli_kafka.configure_logs", lambda *_: None)


def _pelton_kafka(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, args)
    return result.exit_code, result.stdout, result.stderr


def test_cli_goes_up_tells_and_goes_down(kafka: LocalKafka, fake_java: FakeJava, answers: None) -> None:
    fake_java()
    port = kafka_config.choose_ports(None, None).client
    where = ("--data-dir", str(kafka.data_dir))
    code, out, _ = _pelton_kafka("up", *where, "--port", str(port))
    assert (code, f"up at 127.0.0.1:{port}" in out) == (0, True)
    code, out, _ = _pelton_kafka("status", *where)
    assert (code, f"127.0.0.1:{port}" in out, str(kafka.log_file) in out) == (0, True, True)
    assert _pelton_kafka("up", *where)[0] == 0
    code, out, _ = _pelton_kafka("down", *where)
    assert (code, "Kafka is down" in out) == (0, True)
    code, out, _ = _pelton_kafka("status", *where)
    assert (code, "down" in out) == (1, True)


def test_cli_tells_errors_in_one_line_without_a_trace(tmp_path: Path, fake_java: FakeJava) -> None:
    fake_java()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        code, out, err = _pelton_kafka("up", "--data-dir", str(tmp_path / "[red]k"), "--port", port)
    assert code == 1
    assert out == ""
    assert err.strip() == f"error: port {port} of 127.0.0.1 is in use by another program; choose another one"


def test_cli_in_the_foreground_stops_kafka_on_sigterm(
    kafka: LocalKafka, fake_java: FakeJava, answers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java()
    previous = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("pelton.cli_kafka.WATCH_EVERY_S", 0.0)
    real = LocalKafka.status

    def status_then_term(self: LocalKafka) -> kafka_process.KafkaStatus:
        os.kill(os.getpid(), signal.SIGTERM)
        return real(self)

    monkeypatch.setattr(LocalKafka, "status", status_then_term)
    port = str(kafka_config.choose_ports(None, None).client)
    try:
        code, out, _ = _pelton_kafka("up", "--data-dir", str(kafka.data_dir), "--port", port, "--foreground")
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert (code, "Kafka is down" in out) == (0, True)
    assert kafka.log_file.exists()
    assert not real(kafka).running


def test_cli_names_the_extra_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pelton.local_kafka", None)
    code, _, err = _pelton_kafka("status", "--data-dir", str(tmp_path))
    assert code == 1
    assert "pip install 'pelton[local]'" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("text", ["payments", "payments:", ":4", "payments:0", "payments:four"])
def test_topics_need_a_name_and_a_number_of_partitions(text: str) -> None:
    result = CliRunner().invoke(app, ["topics", text])
    assert result.exit_code == 2
    assert "NAME:PARTITIONS" in result.output


SETTINGS = """
model: any
kafka: {bootstrap.servers: "file:1", security.protocol: ssl}
stream: {topics: [a, b], group: g, sink: s}
"""


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[dict[str, str], dict[str, int]]]:
    """What brokers were asked to create, in a folder without a settings file."""
    asked: list[tuple[dict[str, str], dict[str, int]]] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pelton.topics.create", lambda kafka, partitions: asked.append((kafka, partitions)))
    monkeypatch.setattr("pelton.topics.describe", lambda _, partitions: partitions)
    return asked


@pytest.mark.parametrize("name", ["pelton.yaml", "own.yaml"])
def test_topics_of_the_settings_need_not_be_named_again(
    created: list[tuple[dict[str, str], dict[str, int]]], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(SETTINGS)
    where = () if name == "pelton.yaml" else ("--config", name)
    code, out, _ = _pelton_kafka("topics", *where, "--partitions", "6")
    assert (code, out.splitlines()[-1]) == (0, "s-dead-letters has 1 partition")
    kafka = {"bootstrap.servers": "file:1", "security.protocol": "ssl"}
    assert created == [(kafka, {"a": 6, "b": 6, "s": 6, "s-dead-letters": 1})]


def test_topics_of_requests_and_replies_are_created_too(
    created: list[tuple[dict[str, str], dict[str, int]]], tmp_path: Path
) -> None:
    asking = "requests: {topics: [asked], group: r, reply_topics: [answered, 'private-*', 'any?']}"
    (tmp_path / "pelton.yaml").write_text(SETTINGS + asking)
    assert _pelton_kafka("topics", "--partitions", "2")[0] == 0
    assert created[0][1] == {"a": 2, "b": 2, "s": 2, "s-dead-letters": 1, "asked": 2, "answered": 2}


def test_topics_of_requests_alone_are_created(
    created: list[tuple[dict[str, str], dict[str, int]]], tmp_path: Path
) -> None:
    asking = "{model: any, requests: {topics: [asked], group: r, reply_topics: [answered, 'private-*']}}"
    (tmp_path / "pelton.yaml").write_text(asking)
    assert _pelton_kafka("topics", "--partitions", "3")[0] == 0
    assert created[0][1] == {"asked": 3, "answered": 3}


def test_topics_that_are_named_are_created_alone(
    created: list[tuple[dict[str, str], dict[str, int]]], tmp_path: Path
) -> None:
    (tmp_path / "pelton.yaml").write_text(SETTINGS)
    assert _pelton_kafka("topics", "c:2", "--brokers", "flag:2")[0] == 0
    assert created == [({"bootstrap.servers": "flag:2", "security.protocol": "ssl"}, {"c": 2})]


def test_without_names_and_settings_there_is_nothing_to_create(
    created: list[tuple[dict[str, str], dict[str, int]]],
) -> None:
    result = CliRunner().invoke(app, ["topics"])
    assert (result.exit_code, created) == (2, [])
    assert "--config" in result.output
