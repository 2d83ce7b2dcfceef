"""The alert rules ask for what is exposed, say what to do, and are tested both ways."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from .queries import faults, selectors

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "alerts.md").read_text()
GROUPS = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules" / "pelton.yml").read_text())["groups"]
ALERTS: dict[str, dict[str, Any]] = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
TESTS = [
    case
    for file in (ROOT / "deploy" / "prometheus" / "tests").glob("*.yml")
    for test in yaml.safe_load(file.read_text())["tests"]
    for case in test["alert_rule_test"]
]


def test_alerts_are_named_once() -> None:
    assert len(ALERTS) == sum(len(group["rules"]) for group in GROUPS) > 15


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_asks_for_what_is_exposed(name: str) -> None:
    assert list(selectors(ALERTS[name]["expr"])) != []
    assert faults(ALERTS[name]["expr"]) == []


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_what_is_wrong_and_where_to_read_on(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    assert rule["annotations"]["runbook"] == f"docs/alerts.md#{name.lower()}"
    assert len(rule["annotations"]["summary"]) <= 110


def test_the_page_has_a_section_with_advice_for_each_alert_and_no_other() -> None:
    sections = dict(re.findall(r"(?ms)^### (\w+)\n\n(.+?)(?=^##|\Z)", PAGE))
    assert sections.keys() == ALERTS.keys()
    assert {name for name, text in sections.items() if len(text) < 150} == set()


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_tested_to_fire_and_to_be_silent(name: str) -> None:
    fired = {bool(case["exp_alerts"]) for case in TESTS if case["alertname"] == name}
    assert fired == {True, False}


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("sum(pelton_score_total)", "no metric pelton_score_total"),
        ('pelton_scored_total{code="ok"}', "pelton_scored_total has no label code"),
        ('pelton_replies_total{end!="sent"}', "pelton_replies_total: end is never sent"),
        ("pelton_batch_wait_seconds", "no metric pelton_batch_wait_seconds"),
        ('rate(pelton_batch_wait_seconds_bucket{le="1.0", lane=~"stream|requests"}[5m])', ""),
    ],
)
def test_what_is_not_exposed_is_found(query: str, fault: str) -> None:
    assert faults(query) == ([fault] if fault else [])
