"""Writes deploy/grafana/dashboards/pelton.json; `make docs` does."""

import json
from pathlib import Path
from typing import Any

from dashboard.panels import PODS, SOURCE, WIDTH
from dashboard.rows import ROWS

FILE = Path(__file__).resolve().parents[1] / "grafana" / "dashboards" / "pelton.json"


def dashboard() -> dict[str, Any]:
    """Return the whole dashboard."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        where = {"x": 0, "y": y, "w": WIDTH, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": where})
        x, y, tall = 0, y + 1, 0
        for panel in row:
            if x + WIDTH // panel.share > WIDTH:
                x, y, tall = 0, y + tall, 0
            described = panel.describe(len(panels) + 1, x, y)
            x, tall = x + described["gridPos"]["w"], max(tall, described["gridPos"]["h"])
            panels.append(described)
        y += tall
    return {
        "uid": "pelton",
        "title": "Pelton",
        "tags": ["pelton", "kafka"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _variables() -> list[dict[str, Any]]:
    queries = {
        "job": "label_values(pelton_healthy, job)",
        "instance": 'label_values(pelton_healthy{job=~"$job"}, instance)',
        "worker": f"label_values(pelton_worker_state{{{PODS}}}, worker)",
    }
    choices = [
        {
            "name": name,
            "type": "query",
            "datasource": SOURCE,
            "query": {"query": query, "refId": name},
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }
        for name, query in queries.items()
    ]
    return [{"name": "datasource", "type": "datasource", "query": "prometheus", "refresh": 1}, *choices]


def text() -> str:
    """Return what the file holds."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
