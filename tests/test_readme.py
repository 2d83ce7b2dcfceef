"""The README is run: its code, its commands, its numbers and its links."""

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from pelton.cli import app
from pelton.models.package import load_package
from pelton.schemas.settings import load_settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLE = ROOT / "examples" / "payment-risk"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "deploy" / "README.md",
    ROOT / "deploy" / "helm" / "pelton" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```$", text)


def commands(program: str) -> list[str]:
    """Return the lines of every page's shell blocks that call a program."""
    lines = [line.strip() for page in PAGES for block in blocks("sh", page.read_text()) for line in block.split("\n")]
    return [line for line in lines if line.split(" ")[0] == program]


def risk(amount: float, payments_today: int) -> float:
    """The example's model once more, by hand: its weights are 0.75 and 0.25, its bias is -6."""
    return 1 / (1 + math.exp(-(0.75 * math.log1p(amount) + 0.25 * payments_today - 6)))


def test_python_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "readme"}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), space)
    assert (tmp_path / "weights.safetensors").stat().st_size > 0
    assert space["scores"].tolist() == pytest.approx([risk(250, 9)], abs=1e-6)


@pytest.mark.parametrize("name", ["model.py", "model.yaml"])
def test_the_example_is_shown_as_it_is(name: str) -> None:
    assert (EXAMPLE / "1" / name).read_text() in [*blocks("python"), *blocks("yaml")]


def test_golden_scores_of_the_example_are_right() -> None:
    cases = [json.loads(line) for line in (EXAMPLE / "1" / "golden.jsonl").read_text().splitlines()]
    expected = [risk(case["event"]["amount"], case["event"]["payments_today"]) for case in cases]
    assert [case["score"] for case in cases] == pytest.approx(expected, abs=1e-9)


def test_the_score_shown_is_the_score_written() -> None:
    (shown,) = (json.loads(block) for block in blocks("json"))
    assert shown["version"] == load_package(EXAMPLE).version_address
    assert shown["score"] == pytest.approx(risk(250, 9), abs=1e-6)


def test_settings_of_the_example_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    settings = load_settings(EXAMPLE / "pelton.yaml", {})
    assert load_package(settings.model).name == "payment-risk"
    assert any(f"--topic {settings.stream.topics[0]} " in line for line in commands("pelton"))
    assert any(line.endswith(f"--topic {settings.stream.sink} --table") for line in commands("pelton"))
    assert any(block in (EXAMPLE / "pelton.yaml").read_text() for block in blocks("yaml"))


@pytest.mark.parametrize("line", commands("pelton"))
def test_pelton_commands_parse(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that do not exist, missing arguments and unknown commands raise here; nothing is carried out."""
    monkeypatch.chdir(ROOT)
    command: Any = typer.main.get_command(app)
    context, words = None, shlex.split(line)[1:]
    while hasattr(command, "resolve_command"):
        context = command.make_context("pelton", list(words), parent=context)
        _, command, words = command.resolve_command(context, words)
    command.make_context("pelton", list(words), parent=context)


@pytest.mark.parametrize("line", commands("make"))
def test_make_targets_exist(line: str) -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    assert set(line.split()[1:]) <= set(targets)


def test_commands_were_found() -> None:
    assert commands("make")[:2] == ["make demo", "make test"]
    assert {line.split()[1] for line in commands("pelton")} >= {"kafka", "produce", "scores", "serve"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_figure_is_filled_in() -> None:
    assert re.findall(r"FIGURE\([^)]*\)", README) == []
