"""Admin routes are off, on loopback and behind a token; and the token is shown nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

LEAST: dict[str, Any] = {"model": "m", "stream": {"topics": "a", "group": "g", "sink": "s"}}
TOKEN = "hunter2-must-not-show"


def refusal(**admin: Any) -> str:
    with pytest.raises(SettingsError) as refused:
        load_settings(None, {**LEAST, "admin": admin}, {})
    assert "hunter" not in str(refused.value)
    return str(refused.value)


def test_there_are_none_unless_asked_for() -> None:
    made = load_settings(None, LEAST, {})
    assert (made.admin.port, made.admin.host) == (None, "127.0.0.1")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "10.0.0.1"])
def test_a_port_needs_a_token_at_every_address(host: str) -> None:
    assert "admin.token: is missing" in refusal(port=9000, host=host)
    made = load_settings(None, {**LEAST, "admin": {"port": 9000, "host": host, "token": TOKEN}}, {})
    assert made.admin.host == host


def test_a_short_token_is_told_how_long_it_must_be() -> None:
    assert refusal(port=9000, token="hunter2").endswith("has 7 characters, and needs 16 at least")


@pytest.mark.parametrize("token", ["", "hunter2", "hunter2-hunter2", 5, ["hunter2-must-not-show"]])
def test_a_short_token_or_none_at_all_is_refused_and_not_told(token: Any) -> None:
    assert "admin.token" in refusal(port=9000, token=token)


def test_the_token_is_shown_nowhere_and_reaches_the_process(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    made = load_settings(None, LEAST, {"PELTON_ADMIN__PORT": "0", "PELTON_ADMIN__TOKEN_FILE": str(file)})
    assert made.admin.token is not None
    assert made.admin.token.get_secret_value() == TOKEN
    shown = [repr(made), str(made), json.dumps(made.redacted()), made.model_dump_json(), str(made.model_dump())]
    assert [text for text in shown if TOKEN in text] == []
    assert Settings.from_json(made.to_json()) == made
