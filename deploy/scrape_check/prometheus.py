"""A Prometheus of our own, for as long as the check lasts."""

from pathlib import Path
from typing import Any

import yaml

from scrape_check.ports import Program, free_port, get_json, until


class Prometheus:
    """A running Prometheus that scrapes one port every second, with the alert rules loaded."""

    def __init__(self, program: str, folder: Path, port: int, rules: Path) -> None:
        own = free_port()
        self._url = f"http://127.0.0.1:{own}"
        config = folder / "prometheus.yml"
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(rules)],
                    "scrape_configs": [{"job_name": "pelton", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
                }
            )
        )
        self._command = [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{own}",
        ]
        self._log = folder / "prometheus.log"

    def __enter__(self) -> "Prometheus":
        self._program = Program(self._command, self._log)
        try:
            until("Prometheus is ready", lambda: get_json(f"{self._url}/api/v1/status/config")["status"] == "success")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._program.__exit__(None)

    def ask(self, query: str) -> list[float]:
        """Return the values a query has now; raises CheckFailed when Prometheus does not take it."""
        found = get_json(f"{self._url}/api/v1/query", query=query)["data"]
        values = found["result"] if found["resultType"] == "vector" else [{"value": found["result"]}]
        return [float(each["value"][1]) for each in values]

    def rules(self) -> list[dict[str, Any]]:
        """Return each alert rule, with its health."""
        groups = get_json(f"{self._url}/api/v1/rules")["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]
