"""Model packages: read without torch, checked before use, loaded as what their manifest names."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pelton.errors import PackageError, SettingsError
from pelton.models.package import load_package
from pelton.models.torch_model import TorchModel

Write = Callable[..., Path]

LINEAR = """
import torch
from pelton.models.torch_model import TorchModel

class Linear(TorchModel):
    def build(self):
        return torch.nn.Linear(1, 1)

    def prepare(self, events):
        return torch.tensor([[event.x] for event in events])
"""
WEIGHTS = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
GOLDEN = [{"event": {"x": 3.0}, "score": 7.0}]


def test_a_package_is_read_without_torch(write_package: Write) -> None:
    code = f"""if 1:
        import sys
        from pelton.models.package import load_package
        print(load_package({str(write_package())!r}).version_address)
        heavy = {{"torch", "numpy", "safetensors"}} & set(sys.modules)
        assert not heavy, heavy
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1@")


def test_the_version_address_follows_the_content(write_package: Write) -> None:
    folder = write_package()
    before = load_package(folder)
    version, at, digest = before.version_address.partition("@")
    assert (version, at, len(digest)) == ("1", "@", 12)
    assert set(digest) <= set("0123456789abcdef")
    (folder / "notes.txt").write_text("a change")
    assert load_package(folder).version_address != before.version_address


def test_two_versions_serve_side_by_side(write_package: Write, tmp_path: Path) -> None:
    old = write_package()
    new = write_package(
        (old / "model.py").read_text().replace("* 2", "* 3"), version="2", folder=tmp_path / "model" / "2"
    )
    models: list[Any] = [load_package(folder).load("cpu") for folder in (old, new)]
    assert [model.forward(torch.tensor([5.0])).item() for model in models] == [10.0, 15.0]


def test_a_torch_model_gets_its_weights_and_is_ready_to_score(write_package: Write) -> None:
    package = load_package(write_package(LINEAR, entry="model:Linear", tensors=WEIGHTS, cases=GOLDEN))
    model = package.load("auto")
    assert isinstance(model, TorchModel)
    events = package.codec().decode([b'{"x": 3}', b'{"x": -1}'])
    scores = model.finish(model.forward(model.prepare(events)))
    assert scores.tolist() == [7.0, -1.0]
    assert not model.module.training
    assert not any(parameter.requires_grad for parameter in model.module.parameters())


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"weight": torch.ones(1, 1)}, "Missing key.*bias"),
        ({**WEIGHTS, "scale": torch.ones(1)}, "Unexpected key.*scale"),
        ({**WEIGHTS, "weight": torch.ones(1, 2)}, "size mismatch for weight"),
    ],
)
def test_weights_that_do_not_fit_exactly_are_refused(
    write_package: Write, weights: dict[str, torch.Tensor], said: str
) -> None:
    package = load_package(write_package(LINEAR, entry="model:Linear", tensors=weights))
    with pytest.raises(PackageError, match=f"(?s)do not fit the module: .*{said}"):
        package.load("cpu")


def test_b27_weights_cut_in_half_are_refused_and_the_repaired_package_loads(write_package: Write) -> None:
    folder = write_package(LINEAR, entry="model:Linear", tensors=WEIGHTS, cases=GOLDEN)
    path = folder / "weights.safetensors"
    whole = path.read_bytes()
    for size in (len(whole) // 2, len(whole) - 1, 4, 0):
        path.write_bytes(whole[:size])
        broken = load_package(folder)
        for _ in range(2):
            with pytest.raises(PackageError, match=r"weights in .*weights\.safetensors cannot be read"):
                broken.load("cpu")
    path.write_bytes(whole)
    assert isinstance(load_package(folder).load("cpu"), TorchModel)


def test_b27_a_package_that_changes_while_it_is_loaded_is_refused(write_package: Write) -> None:
    folder = write_package()
    package = load_package(folder)
    (folder / "late.bin").write_bytes(b"still being copied")
    with pytest.raises(PackageError, match="was changed while it was loaded"):
        package.load("cpu")


@pytest.mark.parametrize("missing", ["golden.jsonl", "weights.safetensors"])
def test_b27_a_named_file_that_has_not_arrived_is_told(write_package: Write, missing: str) -> None:
    folder = write_package(tensors=WEIGHTS)
    (folder / missing).unlink()
    with pytest.raises(PackageError, match=f"has no file {missing}"):
        load_package(folder)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Other: ...", r"model\.py defines no class Doubler"),
        ("Doubler = 3", r"model\.py defines no class Doubler"),
        ("class Doubler:\n    def __init__(self, folder): ...", "cannot be constructed: TypeError"),
        ("class Doubler:\n    def __init__(self, *a): raise KeyError('gpu')", "cannot be constructed: KeyError: 'gpu'"),
        (
            "class Doubler:\n    def __init__(self, *a): ...\n    def prepare(self, e): ...",
            "has no method forward, finish",
        ),
        (LINEAR.replace("Linear(TorchModel)", "Doubler(TorchModel)").replace("build", "make"), "abstract method"),
    ],
)
def test_code_that_makes_no_model_is_told(write_package: Write, code: str, said: str) -> None:
    package = load_package(write_package(code))
    with pytest.raises(PackageError, match=said):
        package.load("cpu")


def test_a_device_that_is_not_here_is_a_matter_of_settings(write_package: Write) -> None:
    package = load_package(write_package(LINEAR, entry="model:Linear", tensors=WEIGHTS))
    with pytest.raises(SettingsError, match="device: 'tpu'"):
        package.load("tpu")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 2}}}}, "multipleOf"),
        ({"id_field": "flight"}, "id_field: 'flight'"),
        ({"version": "2"}, "holds version '2' by its manifest, not '1'"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(write_package: Write, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PackageError, match=said):
        load_package(write_package(**fields))
