"""Writes `wire/*.json`, the JSON Schemas of what is on the wire: `python -m pelton.schemas.wire_schemas`."""

import json
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from pelton.schemas.codes import CODES, Code
from pelton.schemas.dead_letter import DeadLetterHeaders
from pelton.schemas.event import Event
from pelton.schemas.reply import Reply
from pelton.schemas.request import Request
from pelton.schemas.score import Score
from pelton.schemas.settings import Settings

WIRE: Final = Path(__file__).parent / "wire"
"""Folder of the generated schemas."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def wire_schemas() -> dict[str, str]:
    """Return the text of every schema by file name."""
    models: dict[str, TypeAdapter[Any]] = {
        "code.json": TypeAdapter(Code),
        "dead_letter.json": TypeAdapter(DeadLetterHeaders),
        "event.json": TypeAdapter(Event),
        "reply.json": TypeAdapter(Reply),
        "request.json": TypeAdapter(Request),
        "score.json": TypeAdapter(Score),
        "settings.json": TypeAdapter(Settings),
    }
    schemas = {name: adapter.json_schema(by_alias=True) for name, adapter in models.items()}
    schemas["code.json"]["oneOf"] = [{"const": code.value, **CODES[code].model_dump()} for code in Code]
    return {name: _text(schema) for name, schema in schemas.items()}


def write(folder: Path = WIRE) -> list[Path]:
    """Write every schema into `folder`; return the files that changed."""
    folder.mkdir(exist_ok=True)
    changed = []
    for name, text in wire_schemas().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _text(schema: dict[str, Any]) -> str:
    return json.dumps({"$schema": _DIALECT} | _untitled(schema), indent=2, ensure_ascii=False) + "\n"


def _untitled(node: Any) -> Any:
    """Leave out the titles pydantic makes up from the names."""
    if isinstance(node, dict):
        return {name: _untitled(child) for name, child in node.items() if name != "title" or isinstance(child, dict)}
    return [_untitled(child) for child in node] if isinstance(node, list) else node


if __name__ == "__main__":
    write()
