"""The schemas in wire/ are those the code makes, and the room is light to import."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import pelton.schemas
from pelton.schemas.wire_schemas import WIRE, wire_schemas, write

ROOM = Path(pelton.schemas.__file__).parent
SCHEMAS = wire_schemas()


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_in_the_repository_is_the_one_the_code_makes(name: str) -> None:
    assert (WIRE / name).read_text() == SCHEMAS[name], "run `make docs`"


def test_no_schema_is_left_over() -> None:
    assert {path.name for path in WIRE.iterdir()} == set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(SCHEMAS[name]))


def test_write_changes_what_differs_only(tmp_path: Path) -> None:
    assert {path.name for path in write(tmp_path)} == set(SCHEMAS)
    (tmp_path / "score.json").write_text("{}")
    assert [path.name for path in write(tmp_path)] == ["score.json"]
    assert (tmp_path / "score.json").read_text() == SCHEMAS["score.json"]


def test_settings_schema_accepts_what_a_file_may_hold() -> None:
    validator = Draft202012Validator(json.loads(SCHEMAS["settings.json"]))
    stream = {"topics": ["a"], "group": "g", "sink": "s"}
    sound = {"model": "m", "stream": stream, "kafka": {"linger.ms": 5}}
    assert validator.is_valid(sound)
    assert not validator.is_valid({**sound, "stream": {**stream, "sinc": "s"}})
    assert not validator.is_valid({**sound, "kafka": {"acks": "1"}})
    assert not validator.is_valid({**sound, "workers": -1})
    assert not validator.is_valid({**sound, "drain_s": 0})
    assert not validator.is_valid({**sound, "stream": {**stream, "topics": []}})
    assert not validator.is_valid({**sound, "sidecar": {"port": 70_000}})


def test_every_public_name_is_where_the_package_says() -> None:
    for name in pelton.schemas.__all__:
        assert getattr(pelton.schemas, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = pelton.schemas.nothing


def test_the_hot_path_needs_no_heavy_import() -> None:
    code = (
        "import sys, pelton.schemas.codec, pelton.schemas.score, pelton.schemas.identity, pelton.schemas.dead_letter\n"
        "print(sorted({'torch', 'aiohttp', 'numpy', 'confluent_kafka'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_file_of_the_room_imports() -> None:
    for path in ROOM.glob("*.py"):
        importlib.import_module(f"pelton.schemas.{path.stem}".removesuffix(".__init__"))
