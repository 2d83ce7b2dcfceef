"""Secrets come from files as well, by the names that users of containers know, and are in no text."""

from pathlib import Path

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

LEAST = {"model": "m", "stream": {"topics": "a", "group": "g", "sink": "s"}}


def load(environ: dict[str, str]) -> Settings:
    return load_settings(None, LEAST, environ)


def refusal(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as refused:
        load(environ)
    assert "hunter" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("hunter2\n")
    return path


@pytest.mark.parametrize(
    ("content", "value"),
    [("hunter2", "hunter2"), ("hunter2\n", "hunter2"), ("hunter2\r\n", "hunter2"), (" a\nb \n", " a\nb ")],
)
def test_a_property_from_a_file_loses_the_line_break_at_its_end(secret: Path, content: str, value: str) -> None:
    secret.write_bytes(content.encode())
    assert load({"PELTON_KAFKA__SASL_PASSWORD_FILE": str(secret)}).kafka["sasl.password"] == value


def test_any_setting_may_come_from_a_file(secret: Path) -> None:
    secret.write_text("7\n")
    assert load({"PELTON_WORKERS_FILE": str(secret)}).workers == 7
    secret.write_text('{"sasl.password": "hunter2"}')
    assert load({"PELTON_KAFKA_FILE": str(secret)}).kafka["sasl.password"] == "hunter2"


def test_properties_that_name_a_file_keep_its_name(secret: Path) -> None:
    name = "PELTON_KAFKA__SASL_OAUTHBEARER_ASSERTION_PRIVATE_KEY_FILE"
    assert load({name: str(secret)}).kafka["sasl.oauthbearer.assertion.private.key.file"] == str(secret)


def test_files_that_are_no_secrets_are_refused(secret: Path, tmp_path: Path) -> None:
    def told(path: Path) -> str:
        return refusal({"PELTON_KAFKA__SASL_PASSWORD_FILE": str(path)})

    assert told(tmp_path / "none") == f"PELTON_KAFKA__SASL_PASSWORD_FILE: {tmp_path / 'none'}: no such file"
    assert "cannot be read" in told(tmp_path)
    secret.write_text("\n")
    assert "is empty" in told(secret)
    secret.write_bytes(b"hunter2\xff")
    assert "not UTF-8 at byte 7" in told(secret)
    secret.write_text("hunter2" * 10_000)
    assert "too long" in told(secret)


def test_a_variable_and_its_file_contradict_each_other(secret: Path) -> None:
    both = {"PELTON_KAFKA__SASL_PASSWORD": "hunter3", "PELTON_KAFKA__SASL_PASSWORD_FILE": str(secret)}
    assert "PELTON_KAFKA__SASL_PASSWORD is set too" in refusal(both)
    assert load({**both, "PELTON_KAFKA__SASL_PASSWORD": ""}).kafka["sasl.password"] == "hunter2"


def test_a_file_for_no_setting_is_refused_by_its_name(secret: Path) -> None:
    assert "PELTON_STREM__SINK_FILE: no such setting" in refusal({"PELTON_STREM__SINK_FILE": str(secret)})


@pytest.mark.parametrize("text", ["kafka: {sasl.password: *hunter2}", "kafka: {sasl.password: !hunter2 x}"])
def test_what_yaml_takes_for_an_alias_or_a_tag_is_not_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pelton.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match="line 1: not YAML") as refused:
        load_settings(path, {}, {})
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize("name", ["pwd", "kafka_pwd", "stream.pwd"])
def test_the_value_of_a_name_that_nobody_knows_is_not_told(name: str) -> None:
    with pytest.raises(SettingsError, match="no such setting") as refused:
        load_settings(None, {**LEAST, name: "hunter2"}, {})
    assert "hunter" not in str(refused.value)
