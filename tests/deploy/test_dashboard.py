"""The dashboard asks for what is exposed, shows all of it, and is laid out without holes or overlaps."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from dashboard.__main__ import text

from pelton.metrics import TABLE

from .queries import SERIES, faults, selectors

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboards" / "pelton.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_the_dashboard_is_up_to_date() -> None:
    assert (FOLDER / "dashboards" / "pelton.json").read_text() == text(), "run `make docs`"


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_what_is_exposed(query: str) -> None:
    assert list(selectors(query)) != []
    # A variable stands for values that differ from place to place.
    assert [fault for fault in faults(query) if "$" not in fault] == []


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_narrowed_by_every_variable_that_it_can_be(query: str) -> None:
    for name, labels in selectors(query):
        of_a_worker = name not in {"pelton_healthy", "pelton_build_info", "pelton_replicas"}
        expected = {"job": "$job", "instance": "$instance"} | ({"worker": "$worker"} if of_a_worker else {})
        assert expected.items() <= labels.items()


def test_every_metric_is_shown() -> None:
    shown = {SERIES[name].name for query in QUERIES for name, _ in selectors(query)}
    assert {metric.name for metric in TABLE} - shown == set()


def test_variables_are_defined_and_used() -> None:
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource", "job", "instance", "worker"}
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            assert faults(variable["query"]["query"].removeprefix("label_values(").split("}")[0] + "}") == []


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
    assert max(place["x"] + place["w"] for place in places) == 24
    assert all(target["legendFormat"] or len(panel["targets"]) == 1 for panel in PANELS for target in panel["targets"])
