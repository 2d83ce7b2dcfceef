"""The README's lines for callers are run as they stand, on the example that it serves, with topics of this test."""

import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pelton.errors import InvalidRequest

from .conftest import Serve, settings_for
from .outside import Outside, Record
from .served import Served

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "payment-risk"
PAYMENTS = [json.loads(line) for line in (EXAMPLE / "payments.jsonl").read_text().splitlines()]


def risk(payment: dict[str, Any]) -> float:
    """The example's model once more, by hand: its weights are 0.75 and 0.25, its bias is -6."""
    return 1 / (1 + math.exp(-(0.75 * math.log1p(payment["amount"]) + 0.25 * payment["payments_today"] - 6)))


BROKEN = {"p-4", "p-6"}
"""One has a negative amount, one an amount in words."""
RISKS = {
    each["payment_id"]: pytest.approx(risk(each), abs=1e-6) for each in PAYMENTS if each["payment_id"] not in BROKEN
}


@pytest.fixture(scope="module")
def example(serve_here: Serve, brokers: str, topic_factory: Callable[..., str]) -> Served:
    """The example served as its settings file says, with topics of this test."""
    written = yaml.safe_load((EXAMPLE / "pelton.yaml").read_text())
    stream, requests = written["stream"], written["requests"]
    stream["topics"], stream["sink"], stream["dead_letter"] = [topic_factory(2)], topic_factory(2), topic_factory(1)
    requests["topics"], requests["reply_topics"] = [topic_factory(2)], [topic_factory(2)]
    stream["group"], requests["group"] = stream["sink"], requests["topics"][0]
    settings = settings_for(brokers, "", stream, requests=requests)
    return serve_here(settings=settings | {"model": str(EXAMPLE)})


def test_the_lines_for_callers_run(example: Served, outside: Outside, brokers: str) -> None:
    outside.send(example.source, *(Record(json.dumps(payment).encode()) for payment in PAYMENTS))
    example.eventually(lambda: len(outside.scores(example.sink)) == len(RISKS))
    (code,) = re.findall(r"(?ms)^```py\n(.*?)^```$", README)
    requests = example.settings["requests"]
    places = {
        "127.0.0.1:9092": brokers,
        "payment-requests": requests["topics"][0],
        "payment-replies": requests["reply_topics"][0],
        "payments": example.source,
        "payment-scores": example.sink,
    }
    for name, place in places.items():
        code = code.replace(f'"{name}"', repr(place))
    space: dict[str, Any] = {"open": lambda name: (ROOT / name).read_text().splitlines()}
    exec(compile(code, "README.md", "exec"), space)
    assert space["risk"] == space["future"].result(0) == RISKS["p-1"]
    answers = {payment["payment_id"]: answer for payment, answer in zip(PAYMENTS, space["risks"], strict=True)}
    assert [(type(answers[name]), answers[name].code) for name in BROKEN] == [(InvalidRequest, "invalid")] * 2
    assert {name: answer for name, answer in answers.items() if name not in BROKEN} == RISKS
    assert space["scores"] == RISKS
    keys = sorted(message.key() for message in outside.read(example.source) if message.key())
    assert keys == sorted(payment["payment_id"].encode() for payment in PAYMENTS)
    assert len(space["places"]) == len(PAYMENTS)


def test_the_commands_for_callers_run(example: Served) -> None:
    lines = re.findall(r"(?m)^pelton request (.*)$", README)
    one, many = (shlex.split(line.replace("examples/payment-risk/pelton.yaml", example.config)) for line in lines)
    asked = json.loads(_request(0, *one))
    assert (asked["code"], asked["answer"]) == ("ok", RISKS["p-3"])
    rows = [line.replace("│", " ").split() for line in _request(1, *many).splitlines()]
    assert [float(row[2]) for row in rows if row[1:2] == ["ok"]] == list(RISKS.values())
    assert [row[0] for row in rows if row[1:2] == ["invalid"]] == ["4", "6"]


def _request(code: int, *arguments: str) -> str:
    command = [sys.executable, "-m", "pelton.cli", "request", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout
