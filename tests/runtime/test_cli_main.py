"""The command line as a whole: quick, light, and errors in one line."""

import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelton import cli
from pelton.errors import BrokerUnavailable, DemoFailed, PackageError, SettingsError

HEAVY = ["torch", "aiohttp", "confluent_kafka", "pandas", "pyarrow", "numpy", "psutil", "pydantic", "pelton.supervisor"]

Invoke = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pelton(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Invoke:
    def invoke(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pelton", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return invoke


def failing(error: Exception) -> Callable[..., None]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


def test_help_lists_every_command_and_loads_nothing_heavy() -> None:
    code = f"""
import contextlib, io, json, sys
sys.argv = ["pelton", "--help"]
from pelton.cli import main
said = io.StringIO()
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
    main()
print(json.dumps([said.getvalue(), [name for name in {HEAVY} if name in sys.modules]]))
"""
    began_s = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, heavy = json.loads(done.stdout)
    assert heavy == []
    assert all(f" {name} " in said for name in ("serve", "produce", "scores", "request", "demo", "kafka"))
    assert time.monotonic() - began_s < 5.0


def test_version_is_that_of_the_project(pelton: Invoke) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert pelton("--version") == (0, f"pelton {project['version']}\n", "")


def test_help_tells_what_holds_when_an_option_is_not_given(pelton: Invoke) -> None:
    """Square brackets would be taken for markup, and not be shown."""
    help_of = {name: " ".join(pelton(name, "--help")[1].replace("│", " ").split()) for name in ("serve", "scores")}
    assert "(pelton.yaml, where" in help_of["serve"]
    assert "(all, or the last 10)" in help_of["scores"]


def test_kafka_commands_are_loaded_when_wanted(pelton: Invoke) -> None:
    code, out, _ = pelton("kafka", "--help")
    assert code == 0
    assert all(f" {name} " in out for name in ("up", "down", "status"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("stream.snik: no such setting; did you mean stream.sink?"), 2),
        (PackageError("no model 'flight' in the zoo"), 2),
        (BrokerUnavailable("no broker answered"), 1),
        (DemoFailed("2 findings"), 1),
    ],
)
def test_errors_are_one_line_and_a_code(
    pelton: Invoke, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    monkeypatch.setattr("pelton.cli_serve.chosen", failing(error))
    assert pelton("serve") == (code, "", f"error: {error}\n")


def test_the_lines_of_a_longer_error_stay_together(pelton: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.cli_serve.chosen", failing(SettingsError("model: is missing\nstream: is missing")))
    assert pelton("serve")[2] == "error: model: is missing\n       stream: is missing\n"


@pytest.mark.parametrize(
    ("module", "extra"), [("torch", "serve"), ("aiohttp.web", "serve"), ("jgo", "local"), ("pyarrow.lib", "replay")]
)
def test_a_missing_extra_is_named(pelton: Invoke, monkeypatch: pytest.MonkeyPatch, module: str, extra: str) -> None:
    monkeypatch.setattr("pelton.cli_serve.chosen", failing(ModuleNotFoundError("No module", name=module)))
    code, _, err = pelton("serve")
    assert (code, err) == (
        1,
        f"error: install pelton[{extra}]: this command needs {module.split('.', maxsplit=1)[0]}\n",
    )


def test_a_missing_extra_of_the_kafka_commands_is_named_too() -> None:
    # In a process of its own: without psutil before anything has imported it.
    code = "import sys; sys.modules['psutil'] = None; sys.argv = ['pelton', 'kafka', 'status']\n"
    command = [sys.executable, "-c", code + "from pelton.cli import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"error: .*pelton\[(local|serve)\].*\n", done.stderr)


def test_a_bug_is_not_dressed_up_as_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pelton", "serve"])
    monkeypatch.setattr("pelton.cli_serve.chosen", failing(ModuleNotFoundError("x", name="pelton.gone")))
    with pytest.raises(ModuleNotFoundError):
        cli.main()


@pytest.mark.parametrize(
    "command", ["produce a.csv --topic", "scores --topic", "request --topic", "request --reply-topic"]
)
@pytest.mark.parametrize("name", ["", "two words"])
def test_a_topic_that_kafka_cannot_have_is_a_usage_error(pelton: Invoke, command: str, name: str) -> None:
    code, _, err = pelton(*command.split(), name)
    assert code == 2
    assert f"{name!r} is not a name Kafka allows" in " ".join(err.split())


@pytest.mark.parametrize(
    "command", ["produce a.jsonl --topic t", "scores --topic t", "request --topic t --reply-topic r --inputs 1"]
)
def test_no_broker_at_all_is_refused_at_once(
    pelton: Invoke, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").touch()
    code, _, err = pelton(*command.split(), "--brokers", "")
    assert (code, "must name a broker, host:port" in err) == (2, True)


def test_a_wrong_option_is_a_usage_error(pelton: Invoke) -> None:
    code, _, err = pelton("produce", "a.csv", "--topik", "t")
    assert code == 2
    assert "--topik" in err
