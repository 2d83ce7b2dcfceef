"""The reference pages say what the code says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from pelton.metrics import TABLE
from pelton.schemas.codes import Code
from pelton.schemas.kafka_properties import FORBIDDEN

DOCS = Path(__file__).resolve().parent.parent / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["health.md", "settings.md", "metrics.md", "codes.md"])
def test_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == generator().PAGES[name](), f"run `make docs`: {name} has drifted"


def test_pages_name_everything() -> None:
    settings, metrics, codes = ((DOCS / name).read_text() for name in ("settings.md", "metrics.md", "codes.md"))
    for path in ("`kafka`", "`stream.topics`", "`requests`", "`requests.max_inputs`", "`sidecar.port`", "`drain_s`"):
        assert path in settings
    assert all(f"`{name}`" in settings for name in FORBIDDEN)
    assert all(f"`{metric.name}`" in metrics for metric in TABLE)
    assert all(f"`{code.value}`" in codes for code in Code)
