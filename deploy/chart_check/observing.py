"""Rules for what observes the scorers: alerts and dashboard are those of deploy/, unchanged."""

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from chart_check.rendered import Rendered

DEPLOY = Path(__file__).resolve().parents[1]


def alerts(chart: Rendered) -> Iterator[str]:
    """A PrometheusRule holds the groups of deploy/prometheus/rules, word for word."""
    files = sorted((DEPLOY / "prometheus" / "rules").glob("*.yml"))
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    for each in chart.of("PrometheusRule"):
        if each["spec"].get("groups") != groups:
            yield "PrometheusRule: is not what deploy/prometheus/rules says"


def dashboard(chart: Rendered) -> Iterator[str]:
    """A dashboard that is mounted is one of deploy/grafana/dashboards, and there is one."""
    files = {path.name: json.loads(path.read_text()) for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    for each in chart.of("ConfigMap"):
        if "grafana_dashboard" in each["metadata"]["labels"]:
            held = {name: json.loads(text) for name, text in (each.get("data") or {}).items()}
            if held != files or not held:
                yield "dashboard: is not what deploy/grafana/dashboards holds"


def scraped(chart: Rendered) -> Iterator[str]:
    """A PodMonitor asks a port that the scorer has, and annotations name the number of that port."""
    ports = {each["name"]: each["containerPort"] for each in chart.scorer.get("ports", ())}
    for each in chart.of("PodMonitor"):
        for endpoint in each["spec"]["podMetricsEndpoints"]:
            if endpoint.get("port") not in ports or endpoint.get("path") != "/metrics":
                yield f"PodMonitor: asks {endpoint.get('port')}{endpoint.get('path')}"
    told = chart.statefulset["spec"]["template"]["metadata"].get("annotations", {})
    if "prometheus.io/port" in told and told["prometheus.io/port"] not in map(str, ports.values()):
        yield f"annotations: ask port {told['prometheus.io/port']}"


RULES = (alerts, dashboard, scraped)
