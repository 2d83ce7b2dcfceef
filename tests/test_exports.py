"""The public surface: what each package's `__init__` promises, it lists, sorted, and has."""

import importlib
from types import ModuleType

import pytest

PACKAGES = (
    "pelton",
    "pelton.consumers",
    "pelton.models",
    "pelton.producers",
    "pelton.producers.client",
    "pelton.schemas",
)


def public(module: ModuleType) -> set[str]:
    """Return the names a package offers: without an underscore, and no module that happens to be loaded."""
    return {
        name for name in dir(module) if not name.startswith("_") and not isinstance(getattr(module, name), ModuleType)
    }


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_offered_is_listed_and_sorted(name: str) -> None:
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    assert list(listed) == sorted(set(listed))
    assert {exported for exported in listed if not hasattr(module, exported)} == set()
    assert public(module) <= set(listed)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_explains_itself(name: str) -> None:
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip().split("\n")[0].endswith(".")
    exported = [getattr(module, name) for name in getattr(module, "__all__", [])]
    silent = [thing.__name__ for thing in exported if callable(thing) and not (thing.__doc__ or "").strip()]
    assert silent == []


def test_unknown_names_are_refused_in_the_usual_way() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module("pelton").no_such_name
