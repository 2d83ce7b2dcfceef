"""Where nobody answers, every command ends in the time that docs/security.md tells, and a worker is never deaf."""

import re
from pathlib import Path

import pytest
import yaml

from .black_hole import black_hole
from .commanded import running
from .conftest import settings_for
from .served import Served

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_ROW = re.compile(r"^\| `pelton (?P<command>[a-z ]+)` \| (?P<seconds>\d+) \|", re.MULTILINE)
START_S = 15.0
"""To start Python may take so long on a busy machine, with all commands at once."""
COMMANDS = {
    "lag": ["lag", "some-group"],
    "doctor": ["doctor"],
    "scores": ["scores", "-t", "scores"],
    "produce": ["produce", "events.jsonl", "-t", "events"],
    "request": ["request", "--inputs", '{"x": 1}'],
    "kafka topics": ["kafka", "topics"],
}


@pytest.mark.timeout(120, func_only=True)
def test_an_address_that_never_answers_holds_nobody_up(tmp_path: Path) -> None:
    limits = {row["command"]: int(row["seconds"]) for row in _ROW.finditer(PAGE.read_text())}
    assert set(limits) == set(COMMANDS)
    (tmp_path / "events.jsonl").write_text('{"x": 1}\n')
    config = tmp_path / "commands.yaml"
    stream = {"topics": ["events"], "group": "g", "sink": "scores", "dead_letter": "dead"}
    requests = {"topics": ["questions"], "group": "asked", "reply_topics": ["answers"]}
    with black_hole() as address:
        settings = settings_for(address, "obedient", stream, requests=requests)
        config.write_text(yaml.safe_dump(settings))
        with Served(settings, tmp_path) as served, running(list(COMMANDS.values()), config) as ended:
            for name, each in zip(COMMANDS, ended, strict=True):
                assert each.code == 1, each
                assert each.took_s < limits[name] + START_S, each
                assert "Traceback" not in each.output, each
            served.eventually(lambda: f"no broker answered at {address}" in "; ".join(served.health("ready")[1]))
            assert served.health("live")[0] == 200
            served.process.terminate()
            assert served.process.wait(5) == 0
