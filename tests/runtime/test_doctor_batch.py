"""`pelton doctor --batch`: what the largest batch takes on this machine, and what that is too long for."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pelton.cli import app
from pelton.doctor_batch import time_largest_batch, too_long
from pelton.schemas.settings import Settings

from .test_doctor import WELL

PACKAGES = Path(__file__).parents[1] / "models" / "packages"
TIMED = Path(__file__).parents[2] / "benchmarks" / "timed" / "1"
STREAM = {"topics": ["in"], "group": "g", "sink": "out"}
REQUESTS = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers"]}


def settings(**changes: Any) -> Settings:
    return Settings(**{"model": str(TIMED), "stream": STREAM, "device": "cpu", **changes})


def found(took_s: float, **changes: Any) -> list[tuple[str, str]]:
    return [(each.where, each.level.value) for each in too_long(settings(**changes), took_s)]


def test_a_largest_batch_takes_what_the_model_says_it_does() -> None:
    """The model sleeps for 20 ms, and 2 ms for each of the 40 events."""
    took_s = time_largest_batch(settings(batch={"max_size": 40}))
    assert took_s is not None
    assert 0.1 <= took_s < 5


def test_a_quick_batch_is_too_long_for_nothing() -> None:
    assert found(0.5, requests=REQUESTS, drain_s=10, health={"stall_s": 60}) == []


@pytest.mark.parametrize(
    ("took_s", "where", "level"),
    [
        (60.0, "health.stall_s", "error"),
        (5.1, "batch.max_size", "warning"),
        (8.1, "drain_s", "warning"),
        (10.1, "requests.deadline_s", "warning"),
    ],
)
def test_a_batch_that_is_too_long_is_told_with_what_waits_for_it(took_s: float, where: str, level: str) -> None:
    changes: dict[str, Any] = {"requests": REQUESTS, "drain_s": 10, "health": {"stall_s": 60}}
    assert (where, level) in found(took_s, **changes)
    assert where not in dict(found(took_s - 0.2, **changes))


def test_the_command_loads_the_model_only_when_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.doctor_facts.gather", lambda _: WELL)
    config = tmp_path / "pelton.yaml"
    told = settings(batch={"max_size": 4}, health={"stall_s": 0.02}).model_dump(exclude_defaults=True)
    config.write_text(json.dumps({**told, "kafka": {"bootstrap.servers": "127.0.0.1:1"}}))
    quiet = CliRunner().invoke(app, ["doctor", "--config", str(config), "--json"])
    assert (quiet.exit_code, json.loads(quiet.stdout)) == (0, {"findings": []})
    timed = CliRunner().invoke(app, ["doctor", "--config", str(config), "--json", "--batch"])
    (finding,) = json.loads(timed.stdout)["findings"]
    assert (timed.exit_code, finding["where"]) == (1, "health.stall_s")
    assert re.match(r"a batch of 4 takes \d+\.\d s here: its worker would be replaced", finding["what"])


@pytest.mark.parametrize("flags", [[], ["--batch"]])
def test_a_package_that_is_not_there_is_found_beside_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.setattr("pelton.doctor_facts.gather", lambda _: replace(WELL, topics={}))
    config = tmp_path / "pelton.yaml"
    config.write_text(json.dumps({"model": str(tmp_path / "churn"), "stream": STREAM}))
    ended = CliRunner().invoke(app, ["doctor", "--config", str(config), "--json", *flags])
    findings = json.loads(ended.stdout)["findings"]
    assert ended.exit_code == 1
    assert [each["where"] for each in findings] == ["stream.topics", "stream.sink", "stream.dead_letter", "model"]
    assert findings[-1]["what"].endswith(f"there is no folder {tmp_path / 'churn'}")


def test_no_name_is_cut_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = "a-topic-" + "0123456789" * 10
    monkeypatch.setattr("pelton.doctor_facts.gather", lambda _: WELL)
    config = tmp_path / "pelton.yaml"
    config.write_text(json.dumps({"model": str(TIMED), "stream": {**STREAM, "sink": topic}}))
    ended = CliRunner().invoke(app, ["doctor", "--config", str(config)])
    cells = [line.split("│")[3].strip() for line in ended.stdout.splitlines() if line.count("│") == 5]
    assert topic in "".join(cells)
