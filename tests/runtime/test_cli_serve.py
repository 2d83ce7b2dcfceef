"""`pelton serve`: from flags and file to the settings the supervisor gets."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pelton import cli
from pelton.cli_serve import given, kafka_properties
from pelton.errors import SettingsError
from pelton.schemas.settings import Settings

FILE = """
model: flight-delay
kafka: {bootstrap.servers: "file:1", security.protocol: ssl}
stream: {topics: [a], group: g, sink: s}
workers: 3
"""

Serve = Callable[..., tuple[int, Settings]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Serve:
    """Run `pelton serve` with these flags in an empty folder; return the exit code and the settings."""
    monkeypatch.chdir(tmp_path)
    served: list[Settings] = []

    class FakeSupervisor:
        def __init__(self, settings: Settings) -> None:
            served.append(settings)

        def run(self) -> int:
            return 7

    def run(*flags: str) -> tuple[int, Settings]:
        monkeypatch.setattr("pelton.supervisor.Supervisor", FakeSupervisor)
        monkeypatch.setattr("pelton.logs.configure_logs", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["pelton", "serve", *flags])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), served[-1]

    return run


def test_flags_alone_are_enough_and_the_exit_code_is_the_supervisors(serve: Serve) -> None:
    code, settings = serve("--model", "m", "--topic", "a", "--topic", "b", "--group", "g", "--sink", "s")
    assert code == 7
    assert (settings.model, settings.stream.topics, settings.stream.sink) == ("m", ("a", "b"), "s")
    assert settings.kafka["bootstrap.servers"] == "127.0.0.1:9092"


def test_flags_win_over_the_file_and_leave_the_rest_of_it(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(FILE)
    flags = ["--brokers", "flag:2", "--sink", "s2", "--port", "0", "--device", "cpu", "--log-level", "debug"]
    _, settings = serve("-c", "own.yaml", *flags)
    assert dict(settings.kafka) == {"bootstrap.servers": "flag:2", "security.protocol": "ssl"}
    assert (settings.stream.sink, settings.stream.topics, settings.workers) == ("s2", ("a",), 3)
    assert (settings.sidecar.port, settings.device, settings.log.level) == (0, "cpu", "debug")


def test_pelton_yaml_of_the_folder_is_read_unless_another_file_is_given(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "pelton.yaml").write_text(FILE)
    (tmp_path / "other.yaml").write_text(FILE.replace("workers: 3", "workers: 5"))
    assert serve()[1].workers == 3
    assert serve("--workers", "2")[1].workers == 2
    assert serve("--config", "other.yaml")[1].workers == 5


def test_what_was_not_given_is_left_out() -> None:
    assert given({"a": None, "b": {"c": None}, "d": {"e": 0, "f": None}, "g": []}) == {"d": {"e": 0}, "g": []}


def test_produce_and_scores_need_only_the_kafka_part_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert kafka_properties(None, None) == {"bootstrap.servers": "127.0.0.1:9092"}
    monkeypatch.setenv("PELTON_BOOTSTRAP_SERVERS", "env:3")
    assert kafka_properties(None, None) == {"bootstrap.servers": "env:3"}
    (tmp_path / "pelton.yaml").write_text("kafka: {security.protocol: ssl}")
    assert kafka_properties(None, "flag:2") == {"bootstrap.servers": "flag:2", "security.protocol": "ssl"}
    (tmp_path / "pelton.yaml").write_text("kafka: {acks: 1}")
    with pytest.raises(SettingsError, match="acks"):
        kafka_properties(None, None)


def test_without_a_file_it_says_that_none_was_read(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(IndexError):
        serve("--topic", "a")
    assert "model: is missing" in (said := capsys.readouterr().err)
    assert "here is no pelton.yaml" in said
    (tmp_path / "pelton.yaml").write_text("device: cpu")
    with pytest.raises(IndexError):
        serve("--topic", "a")
    assert "model: is missing" in (said := capsys.readouterr().err)
    assert "no file" not in said
