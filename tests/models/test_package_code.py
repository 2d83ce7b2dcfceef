"""Code of model packages: two versions in one process, and no file of one ever seen by another."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pelton.errors import PackageError
from pelton.models.package_code import PREFIX, import_file


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return folder


def test_neighbours_are_imported_relatively_and_each_package_gets_its_own(tmp_path: Path) -> None:
    code = "from .features import NAME\nfrom . import features"
    one = write(tmp_path / "m" / "1", model=code, features="NAME = 'one'")
    two = write(tmp_path / "m" / "2", model=code, features="NAME = 'two'")
    path_before, modules_before = list(sys.path), set(sys.modules)
    first, second = import_file(one, "model", "a" * 64), import_file(two, "model", "b" * 64)
    assert (first.NAME, second.NAME) == ("one", "two")
    assert first.features.NAME == "one"
    assert sys.path == path_before
    assert all(name.startswith(PREFIX) for name in set(sys.modules) - modules_before)


def test_the_module_name_holds_the_content_hash(tmp_path: Path) -> None:
    folder = write(tmp_path / "churn" / "1", model="x = 1")
    module = import_file(folder, "model", "0123456789abcdef" * 4)
    assert module.__name__.startswith(f"{PREFIX}churn_0123456789ab_")
    assert import_file(folder, "model", "0123456789abcdef" * 4) is module


def test_new_content_in_the_same_folder_is_new_code(tmp_path: Path) -> None:
    folder = write(tmp_path / "m" / "1", model="x = 'old'")
    assert import_file(folder, "model", "a" * 64).x == "old"
    (folder / "model.py").write_text("x = 'new and longer'")
    assert import_file(folder, "model", "b" * 64).x == "new and longer"


def test_a_file_in_a_folder_inside_is_imported_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "m" / "1", model="from .parts.head import x")
    write(folder / "parts", head="from ..scale import x", unused="")
    (folder / "scale.py").write_text("x = 7")
    assert import_file(folder, "model").x == 7
    assert import_file(folder, "parts.head").x == 7


def test_code_that_raises_leaves_nothing_behind_and_can_be_repaired(tmp_path: Path) -> None:
    folder = write(tmp_path / "m" / "1", model="from . import features\nraise OSError('no such licence')", features="")
    with pytest.raises(PackageError, match=r"model in .* cannot be imported: OSError: no such licence"):
        import_file(folder, "model", "c" * 64)
    assert not [name for name in sys.modules if "cccccccccccc" in name]
    (folder / "model.py").write_text("from . import features\nx = 'repaired'")
    assert import_file(folder, "model", "c" * 64).x == "repaired"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from features import x", r"No module named 'features' .*from \.features import"),
        ("import no_such_library", r"No module named 'no_such_library'$"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_why_code_cannot_be_imported_is_told(tmp_path: Path, code: str, said: str) -> None:
    folder = write(tmp_path / "m" / "1", model=code, features="x = 1")
    with pytest.raises(PackageError, match=said):
        import_file(folder, "model")


def test_a_file_that_is_absent_is_told_by_its_plain_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "m" / "1", model="")
    with pytest.raises(PackageError, match="ModuleNotFoundError: No module named 'modle'"):
        import_file(folder, "modle")


def test_a_script_in_the_folder_can_use_the_code_beside_it(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "m" / "1",
        features="def scaled(x): return x / 10",
        model="from .features import scaled",
        train="""
            from pathlib import Path
            from pelton.models.package_code import import_file
            print(import_file(Path(__file__).parent, "model").scaled(5))
        """,
    )
    done = subprocess.run([sys.executable, folder / "train.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "0.5\n"
