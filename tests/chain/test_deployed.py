"""A scorer as chart and Compose start it, while Kafka is away: probed as they probe, and never restarted."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pelton.deadline import Deadline
from tests.broker.served import Served

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "127.0.0.1:9"
WATCHED_S = 8.0
"""More than one try of the worker to find a broker takes."""


@pytest.fixture(scope="module")
def rendered() -> dict[str, Any]:
    """What Helm makes of the smallest file of values, by kind."""
    text = (ROOT / "tests" / "deploy" / "rendered" / "minimal.yaml").read_text()
    return {
        each["kind"]: each for each in yaml.safe_load_all(text) if each and each["kind"] in ("ConfigMap", "StatefulSet")
    }


@pytest.fixture
def scorer(rendered: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """`pelton serve` with settings and variables of the chart, but a broker that is not there and a port of its own."""
    (container,) = rendered["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    here = {"BOOTSTRAP_SERVERS": NOBODY, "SIDECAR__HOST": "127.0.0.1", "SIDECAR__PORT": "0", "LOG__FORMAT": "json"}
    for name, value in (told | {f"PELTON_{name}": value for name, value in here.items()}).items():
        monkeypatch.setenv(name, value)
    settings = yaml.safe_load(rendered["ConfigMap"]["data"]["pelton.yaml"])
    settings["stream"]["dead_letter"] = "flight-scores-dead-letters"
    with Served(settings, tmp_path) as served:
        yield served


@pytest.mark.timeout(150, func_only=True)
def test_b40_probes_restart_nothing_while_kafka_is_away(rendered: dict[str, Any], scorer: Served) -> None:
    pod = rendered["StatefulSet"]["spec"]["template"]["spec"]
    probes = [f"{name}Probe" for name in ("startup", "liveness", "readiness")]
    startup, live, ready = [pod["containers"][0][name]["httpGet"]["path"] for name in probes]
    scorer.eventually(lambda: scorer.get(startup)[0] == 200)
    scorer.eventually(lambda: NOBODY in scorer.get(ready)[1].decode())
    pid, watched = scorer.pid(), Deadline.after(WATCHED_S)
    while not watched.expired:
        assert [scorer.get(path)[0] for path in (startup, live, ready)] == [200, 200, 503]
        time.sleep(0.1)
    assert NOBODY in json.loads(scorer.get(ready)[1])["reasons"][0]
    assert subprocess.run(_health_check(scorer.port), check=False).returncode == 0
    assert (scorer.pid(), scorer.worker()["restarts"]) == (pid, 0)
    assert scorer.stop(signal.SIGTERM, pod["terminationGracePeriodSeconds"]) == 0


def _health_check(port: int) -> list[str]:
    """Return the command of HEALTHCHECK, which Compose looks at, for the port that was chosen here."""
    words = re.search(r"(?m)^HEALTHCHECK (?:.*\\\n)? *CMD (\[.*\])$", (ROOT / "deploy" / "Dockerfile").read_text())
    assert words
    _python, option, code = json.loads(words[1])
    return [sys.executable, option, code.replace("os.environ['PELTON_SIDECAR__PORT']", f"'{port}'")]
