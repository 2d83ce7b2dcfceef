"""No command and no process tells a secret: not in its output, its log, its arguments or its answers."""

from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from .commanded import running
from .served import PATIENCE_S, Served

SENTINEL = "hunter2-must-not-show"
NOBODY = "127.0.0.1:1"
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
    with running(COMMANDS, config) as ended, Served(settings_with(kafka), tmp_path) as served:
        served.eventually(lambda: served.port and served.worker()["reason"])
        told = [served.get(path)[1].decode() for path in ("/", "/status", "/metrics", "/health/ready")]
        told += [" ".join(process.cmdline()) for process in _family(served.process.pid)]
        served.process.terminate()
        assert served.process.wait(PATIENCE_S) == 0
        told.append(served.log_text())
        for each in ended:
            assert each.code == 1, each
            told.append(each.output)
    assert [text for text in told if SENTINEL in text] == []


def test_a_key_that_is_none_is_refused_by_every_command_and_not_told(tmp_path: Path) -> None:
    kafka = {"security.protocol": "ssl", "ssl.key.pem": SENTINEL, "ssl.certificate.pem": SENTINEL}
    (tmp_path / "events.jsonl").write_text("{}\n")
    config = tmp_path / "pelton.yaml"
    config.write_text(yaml.safe_dump(settings_with(kafka)))
    commands = [*COMMANDS, ["serve"]]
    with running(commands, config) as ended:
        for each in ended:
            assert each.code == 2, each
            assert "Traceback" not in each.output, each
            assert "kafka: " in each.output, each
            assert SENTINEL not in each.output


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]
