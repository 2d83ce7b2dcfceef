"""Finding packages by name, version and path."""

from pathlib import Path

import pytest

from pelton.errors import PackageError
from pelton.models import repository
from pelton.models.repository import find_package, zoo_names


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for version in ("1", "9", "10"):
        add(tmp_path / "zoo" / "flight-delay" / version)
    add(tmp_path / "zoo" / "sentiment" / "1")
    (tmp_path / "zoo" / "__pycache__").mkdir()
    monkeypatch.setattr(repository, "ZOO", tmp_path / "zoo")
    return tmp_path / "zoo"


def add(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "model.yaml").touch()
    return folder


def test_a_zoo_name_means_its_highest_version_counted_as_a_number(zoo: Path) -> None:
    assert find_package("flight-delay") == zoo / "flight-delay" / "10"
    assert find_package("flight-delay:9") == zoo / "flight-delay" / "9"
    assert zoo_names() == ["flight-delay", "sentiment"]


@pytest.mark.parametrize(
    ("versions", "highest"),
    [
        (("1.2", "1.10", "1.9"), "1.10"),
        (("1.0-rc1", "1.0"), "1.0"),
        (("1.0", "1.0.1"), "1.0.1"),
        (("v1", "v2"), "v2"),
        (("2026-01-31", "2025-12-31"), "2026-01-31"),
    ],
)
def test_versions_order_as_people_count(zoo: Path, tmp_path: Path, versions: tuple[str, ...], highest: str) -> None:
    for version in versions:
        add(tmp_path / "own" / version)
    assert find_package(str(tmp_path / "own")).name == highest


def test_a_path_means_itself_or_a_version_below(zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = add(tmp_path / "models" / "churn" / "2")
    add(tmp_path / "models" / "churn" / "1")
    monkeypatch.chdir(tmp_path / "models")
    assert find_package(str(own)) == own
    for reference in ("churn", "./churn", "churn/2", "churn:2", "./churn:2", str(own.parent)):
        assert find_package(reference) == own
    assert find_package("churn:1") == own.parent / "1"
    monkeypatch.chdir(own)
    assert find_package(".") == own


def test_a_zoo_name_wins_over_a_folder_that_happens_to_be_here(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = add(tmp_path / "here" / "sentiment" / "5")
    monkeypatch.chdir(tmp_path / "here")
    assert find_package("sentiment") == zoo / "sentiment" / "1"
    assert find_package("./sentiment") == own


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("flight-dealy", "no model 'flight-dealy' in the zoo .*did you mean flight-delay"),
        ("weather", "the zoo has: flight-delay, sentiment"),
        ("flight-delay:7", "flight-delay has no version 7; it has 1, 9, 10"),
        ("./nowhere", "not a model package: there is no folder /.*/empty/deep/nowhere$"),
        ("..", "no package folder of that name"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, said: str
) -> None:
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "empty" / "deep")
    with pytest.raises(PackageError, match=said):
        find_package(reference)


def test_a_folder_of_other_things_is_told(zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PackageError, match=r"no folder in it has a model\.yaml"):
        find_package(str(tmp_path / "empty"))
