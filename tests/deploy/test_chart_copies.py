"""The chart hands on alerts and dashboard as they are in deploy/; these copies are not kept in rendered/."""

import json
from typing import Any

import pytest
import yaml
from chart_check.observing import DEPLOY, alerts, dashboard
from chart_check.rendered import Rendered


def chart(kind: str, **body: Any) -> Rendered:
    made = Rendered("")
    made.objects = [{"kind": kind, "metadata": {"name": "one", "labels": {"grafana_dashboard": "1"}}, **body}]
    return made


def test_alerts_are_those_of_the_rules() -> None:
    groups = [
        group
        for path in sorted(DEPLOY.glob("prometheus/rules/*.yml"))
        for group in yaml.safe_load(path.read_text())["groups"]
    ]
    assert groups
    assert list(alerts(chart("PrometheusRule", spec={"groups": groups}))) == []
    for broken in (None, groups[1:], [*groups, groups[0]]):
        assert list(alerts(chart("PrometheusRule", spec={"groups": broken}))) == [
            "PrometheusRule: is not what deploy/prometheus/rules says"
        ]


@pytest.mark.parametrize("data", [None, {}, {"other.json": "{}"}])
def test_a_dashboard_that_is_not_there_is_found(data: dict[str, str] | None) -> None:
    assert list(dashboard(chart("ConfigMap", data=data))) == ["dashboard: is not what deploy/grafana/dashboards holds"]


def test_the_links_in_the_chart_lead_to_what_compose_mounts() -> None:
    for name, target in (("rules", "prometheus/rules"), ("dashboards", "grafana/dashboards")):
        assert (DEPLOY / "helm" / "pelton" / name).resolve() == DEPLOY / target


def test_every_dashboard_is_json() -> None:
    for path in DEPLOY.glob("grafana/dashboards/*.json"):
        assert json.loads(path.read_text())["title"]
