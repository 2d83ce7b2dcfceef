"""`pelton doctor` on a real cluster."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from .outside import Outside, Record


def doctor(config: Path, *options: str) -> tuple[int, list[tuple[str, str]]]:
    command = [sys.executable, "-m", "pelton.cli", "doctor", "--config", str(config), "--json", *options]
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=50)
    found: list[dict[str, Any]] = json.loads(told.stdout)["findings"] if told.stdout else []
    return told.returncode, [(each["level"], each["where"]) for each in found]


def test_it_finds_what_is_wrong_and_passes_what_is_put_right(
    outside: Outside, topic_factory: Callable[..., str], tmp_path: Path
) -> None:
    source, sink = topic_factory(partitions=2, config={"retention.ms": "60000"}), topic_factory(partitions=2)
    outside.send(source, Record(b"{}"))
    settings: dict[str, Any] = {
        "kafka": {"bootstrap.servers": outside.brokers, "transaction.timeout.ms": 2_000_000},
        "model": "flight-delay",
        "delivery": "exactly-once",
        "stream": {"topics": [source], "group": f"{source}-group", "sink": sink},
    }
    config = tmp_path / "pelton.yaml"
    config.write_text(yaml.safe_dump(settings))
    # The broker allows transactions of 15 minutes unless told otherwise.
    assert doctor(config) == (
        1,
        [("error", "stream.dead_letter"), ("error", "kafka.transaction.timeout.ms"), ("warning", "stream.topics")],
    )
    topic_factory(name=f"{sink}-dead-letters")
    del settings["kafka"]["transaction.timeout.ms"]
    config.write_text(yaml.safe_dump(settings))
    assert doctor(config) == (0, [("warning", "stream.topics")])
    assert doctor(config, "--strict") == (1, [("warning", "stream.topics")])


def test_a_broker_that_is_away_is_told(tmp_path: Path) -> None:
    config = tmp_path / "pelton.yaml"
    stream = {"topics": ["in"], "group": "g", "sink": "out"}
    config.write_text(
        yaml.safe_dump({"kafka": {"bootstrap.servers": "127.0.0.1:1"}, "model": "flight-delay", "stream": stream})
    )
    command = [sys.executable, "-m", "pelton.cli", "doctor", "--config", str(config)]
    told = subprocess.run(command, check=False, capture_output=True, text=True, timeout=50)
    assert told.returncode == 1
    assert "127.0.0.1:1" in told.stderr
