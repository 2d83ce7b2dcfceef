"""A panel of the dashboard, and the queries it asks."""

from dataclasses import dataclass
from typing import Any

SOURCE = {"type": "prometheus", "uid": "$datasource"}
PODS = 'job=~"$job", instance=~"$instance"'
WORKERS = f'{PODS}, worker=~"$worker"'
WIDTH, HEIGHT = 24, 8


@dataclass(frozen=True)
class Panel:
    """One panel: its queries by legend; `share` is its part of a row's width."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    share: int = 3
    about: str = ""
    stacked: bool = False

    def describe(self, number: int, x: int, y: int) -> dict[str, Any]:
        """Return what Grafana reads."""
        custom: dict[str, Any] = {"fillOpacity": 10, "showPoints": "never"}
        if self.stacked:
            custom |= {"fillOpacity": 30, "stacking": {"mode": "normal"}}
        height = HEIGHT if self.kind == "timeseries" else HEIGHT // 2
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": WIDTH // self.share, "h": height},
            "fieldConfig": {
                "defaults": {"unit": self.unit, "min": 0, **({"custom": custom} if height == HEIGHT else {})},
                "overrides": [],
            },
            "options": _options(self.kind),
            "targets": [
                {"refId": chr(65 + at), "expr": query, "legendFormat": legend, "datasource": SOURCE}
                for at, (legend, query) in enumerate(self.queries.items())
            ],
        }


def rate(name: str, by: str = "", more: str = "") -> str:
    """Return the query of a counter's rate, added up over workers."""
    return f"sum{_by(by)} (rate({name}{{{WORKERS}{more}}}[$__rate_interval]))"


def quantile(share: float, name: str, by: str = "", more: str = "") -> str:
    """Return the query of a quantile of a histogram over all workers."""
    labels = ", ".join(filter(None, (by, "le")))
    return f"histogram_quantile({share}, {rate(f'{name}_bucket', labels, more)})"


def mean(name: str, by: str = "") -> str:
    """Return the query of a histogram's mean."""
    return f"{rate(f'{name}_sum', by)} / {rate(f'{name}_count', by)}"


def gauge(name: str, how: str = "sum", by: str = "", more: str = "") -> str:
    """Return the query of a gauge over all workers."""
    return f"{how}{_by(by)} ({name}{{{WORKERS}{more}}})"


def ranges(name: str, **labels: str) -> dict[str, str]:
    """Return median and 99th percentile of a histogram."""
    more = "".join(f', {label}="{value}"' for label, value in labels.items())
    return {"p50": quantile(0.5, name, more=more), "p99": quantile(0.99, name, more=more)}


def _by(labels: str) -> str:
    return f" by ({labels})" if labels else ""


def _options(kind: str) -> dict[str, Any]:
    if kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "auto", "colorMode": "none"}
    return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
