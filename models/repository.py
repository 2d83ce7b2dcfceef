"""Finding the folder of a model package by name, version or path."""

import difflib
import re
from pathlib import Path

from pelton.errors import PackageError
from pelton.models.manifest import MANIFEST_NAME

ZOO = Path(__file__).parent / "zoo"


def find_package(reference: str) -> Path:
    """Return the folder that a reference means.

    A reference is the name of a model in the zoo ("flight-delay", "flight-delay:1"), the path of a package
    folder, or the path of a folder with one folder a version ("models/churn", "models/churn:2"). Without a
    version the highest one is meant: numbers compare as numbers, so 10 is above 9. Raises PackageError if
    there is none.
    """
    place, version = _split(reference)
    home = ZOO / place
    if place not in zoo_names():
        exact, home = Path(reference).expanduser(), Path(place).expanduser()
        if (exact / MANIFEST_NAME).is_file():
            return exact.resolve()
    versions = _versions(home)
    if not versions:
        raise PackageError(_unknown(place, home))
    if version and version not in versions:
        raise PackageError(f"{place} has no version {version}; it has {', '.join(versions)}")
    return (home / (version or versions[-1])).resolve()


def zoo_names() -> list[str]:
    """Return the names of the models that ship with Pelton, sorted."""
    return sorted(home.name for home in ZOO.iterdir() if _versions(home)) if ZOO.is_dir() else []


def _split(reference: str) -> tuple[str, str]:
    place, colon, version = reference.rpartition(":")
    return (place, version) if colon and "/" not in version else (reference, "")


def _versions(home: Path) -> list[str]:
    found = [path.parent.name for path in home.glob(f"*/{MANIFEST_NAME}")] if home.is_dir() else []
    return sorted((name for name in found if not name.startswith(".")), key=_version_order)


def _version_order(version: str) -> list[tuple[int, int, str]]:
    # Words come before the end, and the end before numbers: 1.0-rc1 < 1.0 < 1.0.1 < 1.0.10.
    parts = re.findall(r"[0-9]+|[A-Za-z]+", version)
    return [*((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts), (1, -1, "")]


def _unknown(place: str, home: Path) -> str:
    if "/" in place:
        what = f"no folder in it has a {MANIFEST_NAME}" if home.is_dir() else f"there is no folder {home.absolute()}"
        return f"{place} is not a model package: {what}"
    near = difflib.get_close_matches(place, zoo_names(), n=1)
    meant = f"; did you mean {near[0]}?" if near else f"; the zoo has: {', '.join(zoo_names()) or 'nothing'}"
    return f"there is no model {place!r} in the zoo and no package folder of that name here{meant}"
