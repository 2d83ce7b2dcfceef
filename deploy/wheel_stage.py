"""Run the `wheel` stage of the Dockerfile without an engine: copy what it copies, run what it runs.

A forgotten COPY, or a file that .dockerignore keeps out, fails here as it would fail in `docker build`.
"""

import fnmatch
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def stage(dockerfile: str, name: str) -> list[tuple[str, str]]:
    """Return the instructions of one stage as (keyword, rest), continuation lines joined."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", dockerfile)).splitlines()
    pairs = [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]
    starts = [i for i, (word, _) in enumerate(pairs) if word == "FROM"] + [len(pairs)]
    for begin, end in itertools.pairwise(starts):
        if pairs[begin][1].endswith(f" AS {name}"):
            return pairs[begin + 1 : end]
    raise SystemExit(f"no stage called {name}")


def context(ignore_file: str) -> list[str]:
    """Return the files git would hand over, less those that .dockerignore keeps out; the last rule wins."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rules = [line for line in ignore_file.splitlines() if line and not line.startswith("#")]

    return [path for path in listed if is_sent(path, rules) and (ROOT / path).is_file()]


def is_sent(path: str, rules: list[str]) -> bool:
    """Tell whether a file survives the rules. `**/x` matches at any depth, every other rule from the root."""
    parts = path.split("/")
    sent = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        deep = pattern.startswith("**/")
        places = parts if deep else ["/".join(parts[: pattern.count("/") + 1])]
        if any(fnmatch.fnmatch(place, pattern.removeprefix("**/")) for place in places):
            sent = rule.startswith("!")
    return sent


def copy(files: list[str], sources: list[str], target: Path) -> None:
    """Do what COPY does with files and folders of the context; a source that is not there is an error."""
    for source in sources:
        found = [path for path in files if path == source or path.startswith(f"{source}/")]
        if not found:
            raise SystemExit(f"COPY {source}: not in the build context")
        for path in found:
            inside = path.removeprefix(source).lstrip("/") or Path(path).name
            destination = target / inside
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, destination)


def main() -> None:
    """Run the stage, and show the wheel it made."""
    files = context((ROOT / ".dockerignore").read_text())
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "src"
        for word, rest in stage((ROOT / "deploy" / "Dockerfile").read_text(), "wheel"):
            if word == "WORKDIR":
                work.mkdir(parents=True)
            elif word == "COPY":
                *sources, target = rest.split()
                copy(files, sources, work / target)
            elif word == "RUN":
                command = rest.replace("pip ", f"{sys.executable} -m pip --quiet ", 1)
                command = command.replace("/wheels", f"{folder}/wheels")
                subprocess.run(command, shell=True, cwd=work, check=True)
            else:
                raise SystemExit(f"this check does not know {word}")
        for wheel in Path(folder, "wheels").iterdir():
            sys.stdout.write(f"{wheel.name}: {wheel.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
