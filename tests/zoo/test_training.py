"""The road to the weights: the same every time, and blind to what it is judged by."""

import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from pelton.metrics import Metrics
from pelton.models.package import ModelPackage, load_package
from pelton.models.package_code import import_file
from pelton.models.scorer import Scorer


@pytest.fixture
def training(module: Any) -> ModuleType:
    found: ModuleType = module("training")
    return found


@pytest.fixture
def examples(training: ModuleType, package: ModelPackage, autumn: list[Any]) -> Any:
    return training.read(autumn[::40], package.codec().decode)


def test_the_same_seed_gives_the_same_weights(training: ModuleType, examples: Any) -> None:
    first, second = (training.fit(examples, seed=3, epochs=1).state_dict() for _ in range(2))
    other = training.fit(examples, seed=4, epochs=1).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_flights_that_never_arrived_teach_nothing(
    training: ModuleType, package: ModelPackage, autumn: list[Any]
) -> None:
    known = [(event, late) for event, late in autumn[:30] if late is not None]
    read = training.read([*known, (autumn[0][0], None)], package.codec().decode)
    assert read.labels.tolist() == [float(late) for _, late in known]
    assert set(read.months.tolist()) == {9}


def test_no_month_is_scored_by_a_network_that_saw_it(
    training: ModuleType, examples: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Seen:
        def __init__(self, months: torch.Tensor) -> None:
            self.months = set(months.tolist())

        def logits(self, inputs: Any) -> torch.Tensor:
            return torch.full((len(inputs[0]),), float(sum(self.months)))

    monkeypatch.setattr(training, "fit", lambda part, seed, epochs: Seen(part.months))
    logits = training.unseen_month_logits(examples)
    assert torch.equal(logits, 9.0 + 10.0 + 11.0 + 12.0 - examples.months)


def test_calibration_finds_slope_and_shift_and_folds_them_in(training: ModuleType, examples: Any) -> None:
    torch.manual_seed(0)
    held_out = torch.randn(50_000) * 2
    labels = torch.bernoulli(torch.sigmoid(0.5 * held_out - 1.0))
    net = training.fit(examples, epochs=1)
    with torch.inference_mode():
        before = net.logits(examples.inputs)
    slope, shift = training.calibrate(net, held_out, labels)
    assert (slope, shift) == (pytest.approx(0.5, abs=0.03), pytest.approx(-1.0, abs=0.05))
    with torch.inference_mode():
        assert torch.allclose(net.logits(examples.inputs), slope * before + shift, atol=1e-5)


def test_hiding_makes_the_known_unknown_and_changes_nothing_else(
    training: ModuleType, module: Any, examples: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = module("features")
    for name, share in [("HIDE_CATEGORY", 1.0), ("HIDE_MEASURE", 0.0), ("HIDE_WEATHER", 1.0)]:
        monkeypatch.setattr(training, name, share)
    categories, numbers = training._hide(examples.inputs)
    assert (categories[:, :3] == torch.tensor(features.UNKNOWN_ROWS)).all()
    assert torch.equal(categories[:, 3:], examples.inputs[0][:, 3:])
    assert (numbers[:, features.MISSING][:, features.WEATHER_MEASURES] == 1).all()
    assert (numbers[:, features.MEASURES][:, features.WEATHER_MEASURES] == 0).all()
    plan = features.MEASURES.start + 3
    assert torch.equal(numbers[:, :plan], examples.inputs[1][:, :plan])


def test_train_py_writes_a_package_that_loads_and_holds(
    package: ModelPackage, autumn: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "flight-delay" / "1"
    shutil.copytree(
        package.folder, folder, ignore=shutil.ignore_patterns("*.safetensors", "golden.jsonl", "__pycache__")
    )
    publication = import_file(folder, "publication")
    monkeypatch.setattr(publication, "flights", lambda months: autumn[::200])
    said: list[str] = []
    monkeypatch.setattr(publication.sys, "stdout", type("Out", (), {"write": said.append}))
    publication.main()
    assert said[0] in (folder / "CARD.md").read_text()
    again = load_package(folder)
    assert again.version_address != package.version_address
    Scorer(again.load("cpu"), again, 8, fixed_shape=False, metrics=Metrics()).start()


def test_a_card_without_a_place_for_figures_is_refused(module: Any, tmp_path: Path) -> None:
    (tmp_path / "CARD.md").write_text("# nothing\n")
    with pytest.raises(ValueError, match="must hold the figures once"):
        module("card").put_into(tmp_path / "CARD.md", "figures")
