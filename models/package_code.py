"""Importing the Python files of a package folder, so that two versions can live in one process.

The folder becomes a synthetic Python package with a name of its own, made from the content hash and the path.
Files in it import each other relatively (`from .features import encode`), and so can only ever get their own
neighbours; `sys.path` is never touched. An `__init__.py` in the folder is not run.
"""

import hashlib
import importlib
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from pelton.errors import PackageError

PREFIX = "pelton_package_"
"""How the names of all modules of model packages begin."""


def import_file(folder: Path, module: str, digest: str = "") -> ModuleType:
    """Import `module` ("model", or "parts.head") from a package folder and return it.

    `digest` is the content hash of the folder; without it (a training script beside the model) the path alone
    makes the name. Raises PackageError if the file is absent or raises while it is imported.
    """
    package = _package_name(folder, digest)
    _declare(package, folder)
    try:
        return importlib.import_module(f"{package}.{module}")
    except Exception as error:
        _forget(package)
        raise PackageError(
            f"{module} in {folder} cannot be imported: {type(error).__name__}: {_told(error, package)}"
            f"{_hint(error, folder)}"
        ) from error


def _package_name(folder: Path, digest: str) -> str:
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()
    slug = re.sub(r"\W", "_", folder.resolve().parent.name)
    return f"{PREFIX}{slug}_{digest[:12] or 'unhashed'}_{place[:8]}"


def _declare(package: str, folder: Path) -> None:
    if package not in sys.modules:
        importlib.invalidate_caches()
        parent = ModuleType(package, f"The model package in {folder}.")
        parent.__path__ = [str(folder.resolve())]
        parent.__spec__ = ModuleSpec(package, None, is_package=True)
        sys.modules[package] = parent


def _forget(package: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _told(error: Exception, package: str) -> str:
    return str(error).replace(f"{package}.", "")


def _hint(error: Exception, folder: Path) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    top = missing.split(".", maxsplit=1)[0]
    if top and ((folder / f"{top}.py").is_file() or (folder / top).is_dir()):
        return f" (a package's own files are imported relatively: from .{missing} import …)"
    return ""
