"""Lets a real Prometheus scrape a running worker, and asks it everything that the dashboard and the alerts ask."""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scrape_check.ports import CheckFailed, get, until
from scrape_check.prometheus import Prometheus
from scrape_check.scene import ROOT, serving

RULES = ROOT / "deploy" / "prometheus" / "rules" / "pelton.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "pelton.json"
CONDITIONAL = "pelton_gpu_"
"""What only machines with a GPU expose."""
WINDOW_S = 10


def main() -> int:
    """Run the check; return 1 and say why when it fails."""
    parser = argparse.ArgumentParser(prog="scrape_check", description=__doc__)
    for name in ("prometheus", "promtool"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pelton-scrape-") as folder:
        try:
            with serving(Path(folder)) as port:
                lint(given.promtool, port)
                with Prometheus(given.prometheus, Path(folder), port, RULES) as prometheus:
                    sys.stdout.write(f"{ask_all(prometheus)}; {evaluated(prometheus)}\n")
        except CheckFailed as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


def lint(promtool: str, port: int) -> None:
    """Hold what a running worker exposes against the rules for names, help and units."""
    metrics = f"http://127.0.0.1:{port}/metrics"
    until("events are scored", lambda: b"pelton_scored_total{" in get(metrics))
    exposed = get(metrics)
    found = subprocess.run([promtool, "check", "metrics"], input=exposed, capture_output=True, check=False)
    if found.returncode:
        raise CheckFailed(f"promtool check metrics: {(found.stderr + found.stdout).decode()}")


def ask_all(prometheus: Prometheus) -> str:
    """Wait until every query of the dashboard returns data, a finite number at least."""
    asked, conditional = [], 0
    for title, query in queries():
        if CONDITIONAL in query:
            prometheus.ask(query)  # without data, but not without sense
            conditional += 1
        else:
            asked.append((title, query))
    silent: list[str] = []

    def answered() -> bool:
        silent[:] = [
            f"{title}: {query}" for title, query in asked if not any(map(math.isfinite, prometheus.ask(query)))
        ]
        return not silent

    try:
        until("every query of the dashboard returns data", answered)
    except CheckFailed as error:
        raise CheckFailed("\n".join([str(error), *silent])) from error
    return f"{len(asked)} queries of the dashboard return data, {conditional} would with a GPU"


def queries() -> Iterator[tuple[str, str]]:
    """Yield what the dashboard asks, with every variable filled in, and what its variables ask."""
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], filled(target["expr"])
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert found, variable
            yield f"${variable['name']}", f"group by ({found[2]}) ({filled(found[1])})"


def filled(query: str) -> str:
    """Return a query with its variables as they are when all is chosen."""
    for name, value in {"$__rate_interval": f"{WINDOW_S}s", "$__range": "1m"}.items():
        query = query.replace(name, value)
    return re.sub(r"\$(job|instance|worker)\b", ".*", query)


def evaluated(prometheus: Prometheus) -> str:
    """Wait until every alert rule was evaluated; raises CheckFailed when one cannot be, or fires without a reason."""
    until("every rule was evaluated", lambda: all(rule["health"] != "unknown" for rule in prometheus.rules()))
    rules = prometheus.rules()
    if bad := [f"{rule['name']}: {rule.get('lastError')}" for rule in rules if rule["health"] != "ok"]:
        raise CheckFailed("\n".join(bad))
    if firing := [rule["name"] for rule in rules if rule["state"] == "firing"]:
        raise CheckFailed(f"alerts fire for a worker that is well: {firing}")
    return f"{len(rules)} alert rules evaluate, and none fires"


if __name__ == "__main__":
    sys.exit(main())
