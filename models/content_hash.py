"""The content hash that addresses a version of a model."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from pelton.errors import PackageError

_CHUNK_BYTES = 1 << 20


class ContentHash:
    """What a package folder held when it was read: a SHA-256 over names and contents of all its files.

    Hidden files and Python's bytecode do not count, so neither a first import nor the dot folders of a
    Kubernetes volume change the address of a version.
    """

    def __init__(self, hexdigest: str, stamps: dict[str, tuple[int, int]]) -> None:
        self.hexdigest = hexdigest
        self._stamps = stamps

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Hash every file under `folder`.

        Raises PackageError if a file cannot be read or a folder inside is a link.
        """
        total = hashlib.sha256()
        stamps = {}
        try:
            for name, path in _files(folder):
                stamps[name] = _stamp(path)
                total.update(f"{len(name.encode())}:{name}\n".encode())
                total.update(_file_digest(path))
        except OSError as error:
            raise PackageError(f"{folder} cannot be read: {error}") from error
        return cls(total.hexdigest(), stamps)

    def still_describes(self, folder: Path) -> bool:
        """Tell, from sizes and times alone, whether the folder still holds what was hashed."""
        try:
            return {name: _stamp(path) for name, path in _files(folder)} == self._stamps
        except OSError:
            return False


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    found = []
    for parent, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for name in folders:
            if Path(parent, name).is_symlink():
                raise PackageError(f"{Path(parent, name)} is a link; a model package holds its own files")
        found += [Path(parent, name) for name in files if not name.startswith(".") and not name.endswith(".pyc")]
    yield from sorted((path.relative_to(folder).as_posix(), path) for path in found)


def _refuse(error: OSError) -> None:
    raise error


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _file_digest(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.digest()
