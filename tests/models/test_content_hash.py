"""The content hash: every byte and name of a package counts, and nothing else does."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pelton.errors import PackageError
from pelton.models.content_hash import ContentHash


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


FILES = {"model.py": b"code", "parts/head.py": b"more", "weights.safetensors": b"\x00" * 100}


def test_the_hash_is_the_one_that_anybody_can_compute(tmp_path: Path) -> None:
    expected = hashlib.sha256()
    for name in sorted(FILES):
        expected.update(f"{len(name)}:{name}\n".encode() + hashlib.sha256(FILES[name]).digest())
    assert ContentHash.of(fill(tmp_path, FILES)).hexdigest == expected.hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "model.py").write_bytes(b"Code"),
        lambda folder: (folder / "model.py").rename(folder / "modem.py"),
        lambda folder: (folder / "parts" / "head.py").rename(folder / "head.py"),
        lambda folder: (folder / "more.txt").touch(),
        lambda folder: (folder / "weights.safetensors").write_bytes(b"\x00" * 99),
    ],
)
def test_any_change_of_content_or_name_changes_it(tmp_path: Path, change: Callable[[Path], None]) -> None:
    before = ContentHash.of(fill(tmp_path, FILES))
    change(tmp_path)
    assert ContentHash.of(tmp_path).hexdigest != before.hexdigest
    assert not before.still_describes(tmp_path)


def test_place_times_bytecode_and_hidden_files_do_not_count(tmp_path: Path) -> None:
    here, there = fill(tmp_path / "a", FILES), fill(tmp_path / "b" / "c", FILES)
    fill(there, {"__pycache__/model.pyc": b"x", "model.pyc": b"x", ".git/HEAD": b"x", ".DS_Store": b"x"})
    os.utime(there / "model.py", (1, 1))
    before = ContentHash.of(here)
    assert ContentHash.of(there).hexdigest == before.hexdigest
    fill(here, {"__pycache__/model.pyc": b"x"})
    assert before.still_describes(here)


def test_a_kubernetes_volume_of_links_hashes_like_plain_files(tmp_path: Path) -> None:
    plain = fill(tmp_path / "plain", {"model.py": b"code", "model.yaml": b"name"})
    volume = tmp_path / "volume"
    fill(volume / "..2026_11_30", {"model.py": b"code", "model.yaml": b"name"})
    (volume / "..data").symlink_to("..2026_11_30")
    for name in ("model.py", "model.yaml"):
        (volume / name).symlink_to(f"..data/{name}")
    assert ContentHash.of(volume).hexdigest == ContentHash.of(plain).hexdigest


def test_a_linked_folder_is_refused_because_its_content_would_not_count(tmp_path: Path) -> None:
    fill(tmp_path / "elsewhere", FILES)
    package = fill(tmp_path / "package", FILES)
    (package / "shared").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PackageError, match="shared is a link"):
        ContentHash.of(package)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="cannot be read"):
        ContentHash.of(tmp_path / "gone")
