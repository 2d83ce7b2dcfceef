"""The manifest: what is wrong in `model.yaml` is named, by its field."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelton.errors import PackageError
from pelton.models.manifest import BatchShapes, Manifest

Write = Callable[..., Path]


def test_defaults_are_those_of_the_design(write_package: Write) -> None:
    manifest = Manifest.read(write_package())
    assert manifest.batching.shapes is BatchShapes.ANY
    assert manifest.tolerance == 1e-6
    assert manifest.finite_inputs
    assert (manifest.weights, manifest.id_field, manifest.time_field) == (None, None, None)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("entry", "model.py", 'entry: must be "file:Class"'),
        ("entry", "../model:Doubler", 'entry: must be "file:Class"'),
        ("version", 1.1, 'version: put it in quotes, as in version: "1.1"'),
        ("version", "1/2", "version: "),
        ("version", True, "version: "),
        ("name", "a@b", "name: "),
        ("weights", "../other/weights.safetensors", "weights: must name a file inside the package folder"),
        ("golden", "/etc/passwd", "golden: must name a file inside the package folder"),
        ("batching", {"shapes": "square"}, "batching.shapes: "),
        ("batching", {"shape": "any"}, "batching.shape: no such key; the nearest right name is batching.shapes"),
        ("tolerance", -1, "tolerance: "),
        ("tolerance", float("nan"), "tolerance: "),
        ("wieghts", "weights.safetensors", "wieghts: no such key; the nearest right name is weights"),
        ("input", None, "input: Field required"),
    ],
)
def test_a_wrong_field_is_named(write_package: Write, field: str, value: Any, said: str) -> None:
    folder = write_package(**{field: value})
    with pytest.raises(PackageError, match=r"model\.yaml is wrong: ") as caught:
        Manifest.read(folder)
    assert said in str(caught.value)


def test_every_wrong_field_is_named_at_once(write_package: Write) -> None:
    with pytest.raises(PackageError, match=r"entry: .*; tolerance: "):
        Manifest.read(write_package(entry="x", tolerance=-1))


def test_a_whole_number_is_a_version(write_package: Write) -> None:
    assert Manifest.read(write_package(version=3)).version == "3"


@pytest.mark.parametrize("text", ["- a\n- b\n", "", "just words"])
def test_yaml_that_is_no_mapping_is_refused(write_package: Write, text: str) -> None:
    folder = write_package(files={"model.yaml": text})
    with pytest.raises(PackageError, match="must hold a mapping"):
        Manifest.read(folder)


@pytest.mark.parametrize("content", [b"name: [", b"name: \xff\xfe"])
def test_a_file_that_is_no_yaml_is_refused(write_package: Write, content: bytes) -> None:
    folder = write_package()
    (folder / "model.yaml").write_bytes(content)
    with pytest.raises(PackageError, match="cannot be read"):
        Manifest.read(folder)


def test_a_folder_without_a_manifest_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"it has no model\.yaml"):
        Manifest.read(tmp_path)
