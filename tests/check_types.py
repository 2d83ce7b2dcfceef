"""Run mypy over the rooms as the package they become, and prove that it read every file of them.

The folders are not importable under their installed names without an import hook, which no checker follows.
So a farm of links in `.types` shows the layout of the installed package, and each model package beside it as
a package of its own, because its files import each other relatively. Nothing but checkers looks at it.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARM = ROOT / ".types"
ROOMS = ("consumers", "models", "producers", "schemas")
SUMMARY = re.compile(r"no issues found in (\d+) source files?|checked (\d+) source files?")


def make_farm() -> dict[str, int]:
    """Bring the links up to date; return the packages, and how many files mypy must read in each."""
    runtime = {file.name: file for file in (ROOT / "runtime").iterdir() if file.suffix in {".py", ".typed"}}
    rooms = {room: ROOT / room for room in ROOMS}
    link(FARM / "pelton", runtime | rooms)
    files = {"pelton": sum(len(list((ROOT / folder).glob("*.py"))) for folder in (*ROOMS, "runtime"))}
    for folder in model_folders():
        package = re.sub(r"\W", "_", f"model_{folder.parent.name}_{folder.name}")
        code = {file.name: file for file in folder.glob("*.py")}
        link(FARM / package, code)
        if "__init__.py" not in code:
            (FARM / package / "__init__.py").touch()
        files[package] = len(code | {"__init__.py": None})
    return files


def model_folders() -> list[Path]:
    """Return the folders of the model packages that come with the code."""
    manifests = [
        *(ROOT / "models" / "zoo").glob("*/*/model.yaml"),
        *(ROOT / "examples").glob("*/*/model.yaml"),
    ]
    return sorted(manifest.parent for manifest in manifests)


def link(folder: Path, targets: dict[str, Path]) -> None:
    """Make `folder` hold these links and no others; right ones stay, for runs side by side."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_symlink() and (entry.name not in targets or not entry.exists()):
            entry.unlink(missing_ok=True)
    for name, target in targets.items():
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target)


def main() -> int:
    """Check every package in one run; return the exit code."""
    expected = make_farm()
    packages = [argument for package in expected for argument in ("--package", package)]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *packages], cwd=ROOT, capture_output=True, text=True, check=False
    )
    sys.stdout.write(run.stdout)
    sys.stderr.write(run.stderr)
    found = SUMMARY.search(run.stdout)
    n_read = int(found.group(1) or found.group(2)) if found else 0
    if n_read != sum(expected.values()):
        sys.stderr.write(f"mypy read {n_read} files instead of {expected}: what it says is worth nothing\n")
        return 1
    return run.returncode


if __name__ == "__main__":
    raise SystemExit(main())
