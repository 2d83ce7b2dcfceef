"""Which YAML loader is taken."""

import runpy

import pytest
import yaml

from pelton.schemas import yaml_loader


def test_without_libyaml_the_loader_in_python_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert runpy.run_path(yaml_loader.__file__)["SafeLoader"] is yaml.SafeLoader
