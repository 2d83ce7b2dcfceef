"""The shape of the code: who imports whom, and how long files and functions are."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("consumers", "models", "producers", "schemas")
LEAVES = (
    "admin_calls",
    "deadline",
    "errors",
    "kafka_errors",
    "metric_labels",
    "metric_table",
    "metrics",
    "silent_log",
    "supervisor_metrics",
    "verdicts",
)
MAX_FILE = 200
MAX_FUNCTION = 50
NAMELESS = ("base", "common", "helpers", "manager", "misc", "util", "utils")
LOG_METHODS = {"critical", "debug", "error", "exception", "info", "warning"}


def files_of(folder: str) -> list[Path]:
    """Return the Python files below a folder, those of the zoo's model packages too."""
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


SHIPPED = {path: ast.parse(path.read_text()) for folder in (*ROOMS, "runtime") for path in files_of(folder)}
NODES = {path: list(ast.walk(tree)) for path, tree in SHIPPED.items()}


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    """Return the installed name of a file of a room or of the spine."""
    room, *rest = path.relative_to(ROOT).with_suffix("").parts
    parts = [part for part in (*(() if room == "runtime" else (room,)), *rest) if part != "__init__"]
    return ".".join(["pelton", *parts])


def imports(module: str, nodes: Iterable[ast.AST], *, is_package: bool = False) -> set[str]:
    """Return the full dotted name of everything a module imports, `from` imports name by name."""
    package = module if is_package else module.rpartition(".")[0]
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{origin}.{name.name}" for name in node.names}
    return names


@cache
def imports_of(path: Path) -> set[str]:
    return imports(module_of(path), NODES[path], is_package=path.name == "__init__.py")


def ours(names: set[str]) -> set[str]:
    """Return what is ours among imported names, without `pelton.`; bare `pelton` becomes the empty name."""
    return {name.partition(".")[2] for name in names if name.split(".")[0] == "pelton"}


def in_room(*rooms: str) -> list[Path]:
    return [path for path in SHIPPED if path.relative_to(ROOT).parts[0] in rooms]


@pytest.mark.parametrize("path", in_room(*ROOMS), ids=label)
def test_rooms_import_schemas_and_leaves_only(path: Path) -> None:
    allowed = {path.relative_to(ROOT).parts[0], "schemas", *LEAVES}
    assert {name for name in ours(imports_of(path)) if name.split(".")[0] not in allowed} == set()


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaves_of_the_spine_import_leaves_only(leaf: str) -> None:
    path = ROOT / "runtime" / f"{leaf}.py"
    assert {name for name in ours(imports_of(path)) if name.split(".")[0] not in LEAVES} == set()


def test_schemas_need_the_base_install_only() -> None:
    runtime_only = {"aiohttp", "numpy", "prometheus_client", "psutil", "pyarrow", "safetensors", "torch"}
    found = {label(path): {name.split(".")[0] for name in imports_of(path)} for path in in_room("schemas")}
    assert {path: names & runtime_only for path, names in found.items() if names & runtime_only} == {}


def test_rooms_are_flat() -> None:
    packages = {label(init.parent) for room in ROOMS for init in (ROOT / room).rglob("__init__.py")}
    assert packages == set(ROOMS)


def test_files_are_short() -> None:
    lengths = {label(path): len(path.read_text().splitlines()) for path in SHIPPED}
    assert {path: length for path, length in lengths.items() if length > MAX_FILE} == {}


def test_functions_are_short() -> None:
    functions = {
        f"{label(path)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: length for name, length in functions.items() if length > MAX_FUNCTION} == {}


def test_files_are_called_after_what_they_hold() -> None:
    assert [label(path) for path in SHIPPED if path.stem.strip("_") in NAMELESS] == []


def test_log_lines_are_events_with_fields_and_not_sentences() -> None:
    calls = (
        (path, node)
        for path, nodes in NODES.items()
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOG_METHODS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"log", "logger"}
    )
    wrong = [f"{label(path)}:{node.lineno}" for path, node in calls if not is_event_name(node.args)]
    assert wrong == []


def is_event_name(arguments: list[ast.expr]) -> bool:
    """Tell whether a log call has exactly one positional argument, a constant in snake_case."""
    match arguments:
        case [ast.Constant(value=str(event))]:
            return event.isidentifier() and event == event.lower()
    return False


def test_every_room_is_checked() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SHIPPED} == {*ROOMS, "runtime"}
    with_init = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert with_init == {*ROOMS, "runtime"}


def test_no_room_is_imported_by_its_bare_name() -> None:
    """`consumers.x` beside `pelton.consumers.x` would make two copies of one module."""
    bare = {(label(path), name) for path in SHIPPED for name in imports_of(path) if name.split(".")[0] in ROOMS}
    assert bare == set()


def test_imports_are_seen_in_every_spelling() -> None:
    code = ["import pelton", "import pelton.cli", "from pelton import loop", "from . import offsets"]
    names = imports("pelton.consumers.source", ast.walk(ast.parse("\n".join([*code, "from ..models import scorer"]))))
    assert ours(names) == {"", "cli", "loop", "consumers.offsets", "models.scorer"}
    assert ours(imports("pelton.consumers", ast.walk(ast.parse("from . import x")), is_package=True)) == {"consumers.x"}
