"""Writes the reference pages from the code that they describe: settings, metrics, codes and the JSON Schemas.

Usage: python docs/generate.py (`make docs`); `tests/test_docs.py` fails when a page is out of date.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pelton.metrics import TABLE
from pelton.schemas import wire_schemas
from pelton.schemas.codes import CODES
from pelton.schemas.settings import Settings

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py; change the code and run `make docs`. -->"


def settings_page() -> str:
    """Return the page of all settings, each with its path, default and sentence."""
    rows = "\n".join(f"| `{path}` | {_default(field)} | {field.description} |" for path, field in _fields(Settings, ""))
    return (
        f"{MADE}\n\n# Settings\n\nFrom `pelton.yaml`, the environment (`PELTON_BATCH__MAX_SIZE`) and flags; flags win"
        " over the environment, the environment over the file.\n\n| setting | default | what |\n|---|---|---|\n"
        + rows
        + "\n"
    )


def metrics_page() -> str:
    """Return the page of all metrics."""
    rows = "\n".join(
        f"| `{metric.name}` | {metric.kind} | {', '.join(metric.labels) or '-'} | {metric.help} |" for metric in TABLE
    )
    return (
        f"{MADE}\n\n# Metrics\n\nAt `/metrics` of the sidecar. Those of a worker have the label `worker` as well.\n\n"
        f"| metric | type | labels | what |\n|---|---|---|---|\n{rows}\n"
    )


def codes_page() -> str:
    """Return the page of the closed set of codes."""
    rows = "\n".join(
        f"| `{code.value}` | {info.http} | {_yes(info.dead_letter)} | {_yes(info.retriable)} | {info.when} |"
        for code, info in CODES.items()
    )
    return f"{MADE}\n\n# Codes\n\n| code | HTTP | dead letter | retriable | when |\n|---|---|---|---|---|\n{rows}\n"


PAGES = {"settings.md": settings_page, "metrics.md": metrics_page, "codes.md": codes_page}


def _fields(group: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in group.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _fields(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "see there"
    value: Any = field.default
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def main() -> None:
    """Write every page and every JSON Schema."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page())
    wire_schemas.write()


if __name__ == "__main__":
    main()
