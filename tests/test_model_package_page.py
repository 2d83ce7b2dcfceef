"""The page on model packages is run: its manifest, its code, its golden cases."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pelton.models.manifest import Manifest
from pelton.models.package import load_package
from pelton.testing import Rejection, score_events

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "model-package.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def leaves(months: float, calls: int, plus: bool) -> dict[str, Any]:
    """The page's model once more, by hand: its weights are -0.1, 0.5 and -2, its bias is 0."""
    probability = 1 / (1 + math.exp(0.1 * months - 0.5 * calls + 2 * plus))
    return {"leaves": probability > 0.5, "probability": pytest.approx(probability, abs=1e-6)}


@pytest.fixture
def churn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package that the page describes, with weights."""
    folder = tmp_path / "churn" / "1"
    folder.mkdir(parents=True)
    (folder / "model.yaml").write_text(blocks("yaml")[0])
    (folder / "model.py").write_text(blocks("python")[0])
    (folder / "golden.jsonl").write_text(blocks("json")[0])
    save_file({"weight": torch.tensor([[-0.1, 0.5, -2.0]]), "bias": torch.zeros(1)}, folder / "weights.safetensors")
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_golden_cases_of_the_page_are_right() -> None:
    cases = [json.loads(line) for line in blocks("json")[0].splitlines()]
    events = [case["event"] for case in cases]
    assert [case["score"] for case in cases] == [
        leaves(event["months"], sum(event["calls"]), event.get("plan") == "plus") for event in events
    ]


def test_the_package_of_the_page_scores_as_the_page_says(churn: Path) -> None:
    space: dict[str, Any] = {}
    exec(compile(blocks("python")[2], "model-package.md", "exec"), space)
    assert space["scores"] == [leaves(24, 3, plus=False)]


class HalfOfTheLinks:
    """What scikit-learn's classifiers look like to a model: a row of two probabilities for each row of features."""

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return np.stack([1 - rows[:, 0] / 2, rows[:, 0] / 2], axis=1)


def test_a_model_without_torch_is_a_class_as_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []
    joblib = SimpleNamespace(load=lambda path: loaded.append(path) or HalfOfTheLinks())
    monkeypatch.setitem(sys.modules, "joblib", joblib)
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / "model.py").write_text(blocks("python")[1])
    (folder / "model.yaml").write_text(
        'name: spam\nversion: "1"\nentry: model:Spam\noutput: {type: number}\ngolden: golden.jsonl\n'
        "input: {type: object, properties: {links: {type: number}, capitals: {type: number}}}\n"
    )
    (folder / "golden.jsonl").write_text('{"event": {"links": 2, "capitals": 0}, "score": 1}\n')
    assert score_events(folder, [{"links": 1, "capitals": 7}, {"links": 0.5, "capitals": 0}]) == [0.5, 0.25]
    assert [path.name for path in loaded] == ["forest.joblib"]


def test_what_the_page_says_of_rows_and_shapes_holds(churn: Path) -> None:
    """Three events are padded to four; an infinite row and one that does not fit cost nobody else a score."""
    event = {"customer": "c", "months": 1, "calls": [1]}
    given = [event, {**event, "months": 1e39}, event, {**event, "plan": "gold"}, event]
    scores = score_events(churn, given, batch_size=4)
    assert [score.code.value for score in scores if isinstance(score, Rejection)] == ["not_finite", "invalid"]
    assert [score for score in scores if not isinstance(score, Rejection)] == [leaves(1, 1, plus=False)] * 3


def test_the_address_has_the_form_of_the_page_and_follows_the_content(churn: Path) -> None:
    before = load_package("churn").version_address
    (churn / "card.md").write_text("Trained in May.")
    after = load_package("churn:1").version_address
    assert before != after
    assert all(re.fullmatch(r"1@[0-9a-f]{12}", address) for address in (before, after))


def test_every_key_of_the_manifest_is_on_the_page() -> None:
    assert [name for name in Manifest.model_fields if f"`{name}" not in PAGE and f"**{name.title()}" not in PAGE] == []
