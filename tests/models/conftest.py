"""Model packages to test with: some that lie here, and any that a test writes itself."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import save_file

from pelton.metrics import Metrics
from pelton.models.package import ModelPackage, load_package
from pelton.models.protocol import Model
from pelton.models.scorer import Scorer

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
PACKAGES = Path(__file__).parent / "packages"

DOUBLER = (PACKAGES / "doubler" / "1" / "model.py").read_text()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Rig:
    """A loaded package: its scorer, its model, and events by keyword."""

    def __init__(self, package: ModelPackage, max_size: int, *, fixed_shape: bool = False) -> None:
        self.package = package
        self.model: Any = package.load("cpu")
        self.metrics = Metrics()
        self.scorer = Scorer(self.model, package, max_size, fixed_shape, self.metrics)

    def events(self, *rows: dict[str, Any]) -> list[Any]:
        decoded = self.package.codec().decode([json.dumps(row).encode() for row in rows])
        assert all(isinstance(event, self.package.input_schema.struct) for event in decoded)
        return list(decoded)

    def numbers(self, *values: float) -> list[Any]:
        return self.events(*({"x": value} for value in values))

    def score(self, *rows: dict[str, Any]) -> list[Any]:
        return self.scorer.score(self.events(*rows))


@pytest.fixture
def rig() -> Callable[..., Rig]:
    """`rig("doubler", max_size=8)` loads one of the packages that lie here, or a folder."""

    def load(package: str | Path, max_size: int = 8, *, fixed_shape: bool = False) -> Rig:
        folder = PACKAGES / package / "1" if isinstance(package, str) else package
        return Rig(load_package(folder), max_size, fixed_shape=fixed_shape)

    return load


@pytest.fixture
def rig_of(rig: Callable[..., Rig]) -> Callable[..., Rig]:
    """`rig_of(model, max_size=8)` puts a model made in the test into the doubler's package."""

    def make(model: Model, max_size: int = 8, *, package: str | Path = "doubler", fixed_shape: bool = False) -> Rig:
        loaded = rig(package, max_size, fixed_shape=fixed_shape)
        loaded.model = model
        loaded.scorer = Scorer(model, loaded.package, max_size, fixed_shape, loaded.metrics)
        return loaded

    return make


@pytest.fixture
def write_package(tmp_path: Path) -> Callable[..., Path]:
    """`write_package(code, **manifest)` writes a package and returns its folder; None leaves a field out."""

    def write(
        code: str = DOUBLER,
        *,
        cases: list[dict[str, Any]] | None = None,
        tensors: dict[str, torch.Tensor] | None = None,
        files: dict[str, str] | None = None,
        folder: Path = tmp_path / "model" / "1",
        **fields: Any,
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        manifest = {
            "name": "model",
            "version": "1",
            "entry": "model:Doubler",
            "input": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}},
            "output": {"type": "number"},
            "golden": "golden.jsonl",
            "weights": "weights.safetensors" if tensors else None,
            **fields,
        }
        stated = {key: value for key, value in manifest.items() if value is not None}
        lines = [{"event": {"x": 1.5}, "score": 3.0}] if cases is None else cases
        texts = {
            "model.py": code,
            "model.yaml": yaml.dump(stated, Dumper=DUMPER),
            "golden.jsonl": "".join(f"{json.dumps(line)}\n" for line in lines),
            **(files or {}),
        }
        for name, text in texts.items():
            (folder / name).write_text(text)
        if tensors:
            save_file(tensors, folder / "weights.safetensors")
        return folder

    return write
