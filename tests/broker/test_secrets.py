"""No command and no process tells a secret: not in its output, its log, its arguments or its answers."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from .served import PATIENCE_S, Served

SENTINEL = "hunter2-must-not-show"
NOBODY = "127.0.0.1:1"
PELTON = [sys.executable, "-m", "pelton.cli"]
COMMANDS = [
    ["lag", "some-group"],
    ["doctor", "--json"],
    ["scores", "-t", "scores"],
    ["produce", "events.jsonl", "-t", "events"],
    ["request", "--inputs", "{}", "--deadline", "1"],
    ["kafka", "topics"],
]
SCRAM = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "pelton"}
TOKENS = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "pelton",
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
}


def settings_with(kafka: dict[str, Any]) -> dict[str, Any]:
    return {
        "kafka": {"bootstrap.servers": NOBODY, **kafka},
        "model": "flight-delay",
        "stream": {"topics": ["events"], "group": "g", "sink": "scores", "dead_letter": "dead"},
        "requests": {"topics": ["questions"], "group": "asked", "reply_topics": ["answers"]},
        "sidecar": {"port": 0},
        "log": {"level": "debug", "format": "json"},
    }


@pytest.mark.parametrize(
    ("kafka", "variable", "in_file"),
    [
        (SCRAM, "PELTON_KAFKA__SASL_PASSWORD", False),
        (TOKENS, "PELTON_KAFKA__SASL_OAUTHBEARER_CLIENT_SECRET", True),
    ],
    ids=["scram", "oauthbearer"],
)
@pytest.mark.timeout(120, func_only=True)
def test_a_secret_is_told_nowhere(
    kafka: dict[str, Any], variable: str, in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SENTINEL}\n")
    monkeypatch.setenv(f"{variable}_FILE" if in_file else variable, str(secret) if in_file else SENTINEL)
    (tmp_path / "events.jsonl").write_text("{}\n")
    config = tmp_path / "pelton.yaml"
    config.write_text(yaml.safe_dump(settings_with(kafka)))
    with _running(COMMANDS, config) as ended, Served(settings_with(kafka), tmp_path) as served:
        served.eventually(lambda: served.port and served.worker()["reason"])
        told = [served.get(path)[1].decode() for path in ("/", "/status", "/metrics", "/health/ready")]
        told += [" ".join(process.cmdline()) for process in _family(served.process.pid)]
        served.process.terminate()
        assert served.process.wait(PATIENCE_S) == 0
        told.append(served.log_text())
        for command, (code, output) in zip(COMMANDS, ended, strict=True):
            assert code == 1, f"{command}: {output}"
            told.append(output)
    assert [text for text in told if SENTINEL in text] == []


def test_a_key_that_is_none_is_refused_by_every_command_and_not_told(tmp_path: Path) -> None:
    kafka = {"security.protocol": "ssl", "ssl.key.pem": SENTINEL, "ssl.certificate.pem": SENTINEL}
    (tmp_path / "events.jsonl").write_text("{}\n")
    config = tmp_path / "pelton.yaml"
    config.write_text(yaml.safe_dump(settings_with(kafka)))
    commands = [*COMMANDS, ["serve"]]
    with _running(commands, config) as ended:
        for command, (code, output) in zip(commands, ended, strict=True):
            assert code == 2, f"{command}: {output}"
            assert "Traceback" not in output, f"{command}: {output}"
            assert "kafka: " in output, f"{command}: {output}"
            assert SENTINEL not in output


@contextmanager
def _running(commands: list[list[str]], config: Path) -> Iterator[Iterator[tuple[int, str]]]:
    """Run commands side by side; gives exit code and output of each, in order, as they end."""

    def run(command: list[str]) -> tuple[int, str]:
        whole = [*PELTON, *command, "-c", str(config)]
        done = subprocess.run(whole, check=False, capture_output=True, text=True, cwd=config.parent, timeout=50)
        return done.returncode, done.stdout + done.stderr

    with ThreadPoolExecutor(len(commands)) as pool:
        yield pool.map(run, commands)


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]
