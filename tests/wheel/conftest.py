"""The wheel, built once from a copy of the sources, and unpacked where nothing else of ours can be seen."""

import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Wheel:
    """A built wheel: its name, the paths in it, and the folder it was installed into."""

    file: Path
    names: frozenset[str]
    installed: Path

    def text(self, pattern: str) -> str:
        """Return the text of the one file that matches."""
        (name,) = [name for name in self.names if name.endswith(pattern)]
        with zipfile.ZipFile(self.file) as archive:
            return archive.read(name).decode()


@pytest.fixture(scope="session")
def sources() -> list[str]:
    """Return the files that belong to the project, as git sees them."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in listed if (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def wheel(sources: list[str], tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    """Build from a copy: in the work tree a stale `build/` would put removed modules into the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in sources:
        (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / "src" / name)
    leave_traces_of_use(folder / "src")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder / "src")]
    subprocess.run([*pip, *build], check=True)
    (file,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(file)], check=True)
    with zipfile.ZipFile(file) as archive:
        return Wheel(file, frozenset(archive.namelist()), folder / "site")


def leave_traces_of_use(folder: Path) -> None:
    """Put what a run leaves behind beside each model package's code; none of it may be shipped."""
    for manifest in (folder / "models" / "zoo").glob("*/*/model.yaml"):
        (manifest.parent / "__pycache__").mkdir()
        (manifest.parent / "__pycache__" / "model.cpython-311.pyc").write_bytes(b"left over")
