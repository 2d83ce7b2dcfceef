"""Where settings come from: flags, then the environment, then the file; the first that has one wins."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelton.errors import SettingsError
from pelton.schemas.kafka_properties import NAME_A_FILE
from pelton.schemas.settings_file import read_file, read_secret
from pelton.schemas.settings_problems import no_such

Place = tuple[str, ...]
"""Where a setting lies: its group and its name; `("kafka", "bootstrap.servers")` for a property."""
Leaf = tuple[Place, Any, str]
"""One setting found: its place, its value and where it was found."""

_PREFIX = "PELTON_"
_PROPERTY = "PELTON_KAFKA__"
_OF_A_FILE = "_FILE"
_READ_ELSEWHERE = re.compile(r"PELTON_(CONFIG|TEST_.*)")
_OF_KUBERNETES = re.compile(r"PELTON_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_\w+)")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Settings as nested data, and for each dotted path where its value was found."""

    data: dict[str, Any]
    origins: dict[str, str]


def gather(known: list[str], path: Path | None, environ: Mapping[str, str], overrides: Mapping[str, Any]) -> Gathered:
    """Gather from `path`, `environ` and `overrides` the settings whose dotted paths are `known`.

    Raises SettingsError for a file that cannot be read and a variable that is no setting of ours.
    """
    groups = {name.partition(".")[0] for name in known if "." in name} | {"kafka"}
    leaves = [
        *(_leaves(read_file(path), str(path), groups) if path else ()),
        *_from_environment(environ, known, groups),
        *(leaf for leaf in _leaves(overrides, "the command line", groups) if leaf[1] is not None),
    ]
    data: dict[str, Any] = {}
    for place, value, _ in leaves:
        _put(data, place, value)
    return Gathered(data, {".".join(place): origin for place, _, origin in leaves})


def _leaves(mapping: Mapping[Any, Any], origin: str, groups: set[str]) -> Iterator[Leaf]:
    """Yield the settings in `mapping`, whose names may be `group.setting`; a group may be nested instead."""
    for key, value in mapping.items():
        _check_name(str(key), key, origin)
        group, dot, name = key.partition(".")
        if key in groups and value == {}:
            yield (key,), {}, origin  # `scale: {}` asks for what is off without it, by its defaults
        elif key in groups and isinstance(value, Mapping):
            for inner, setting in value.items():
                _check_name(f"{key}.{inner}", inner, origin)
                yield (key, inner), setting, origin
        elif dot and group in groups:
            yield (group, name), value, origin
        elif value is not None or key not in groups:
            # `batch:` with every line below it commented out is an empty group, not a wrong one.
            yield (key,), value, origin


def _check_name(path: str, name: Any, origin: str) -> None:
    if not isinstance(name, str):
        raise SettingsError(f"{path} (from {origin}): the name of a setting is text")


def _put(data: dict[str, Any], place: Place, value: Any) -> None:
    group = data if len(place) == 1 else data.setdefault(place[0], {})
    if len(place) == 1 and value == {}:
        data.setdefault(place[0], {})  # an empty group takes nothing away from what a lower source says
    elif isinstance(group, dict):  # else a lower source has a wrong value here, and validation will name it
        group[place[-1]] = value


def _from_environment(environ: Mapping[str, str], known: list[str], groups: set[str]) -> Iterator[Leaf]:
    variables = {_PREFIX + path.upper().replace(".", "__"): tuple(path.split(".")) for path in known}
    variables["PELTON_BOOTSTRAP_SERVERS"] = ("kafka", "bootstrap.servers")
    for name in sorted(name for name in environ if name.startswith(_PREFIX) and environ[name]):
        meant, text = _from_secret_file(name, environ, variables)
        if place := variables.get(meant):
            yield from _from_variable(name, place, text, groups)
        elif meant.startswith(_PROPERTY):
            yield ("kafka", _property(meant)), text, name
        elif not _is_foreign(name, text):
            raise SettingsError(f"{name}: {no_such(name, variables)}")


def _from_secret_file(name: str, environ: Mapping[str, str], variables: Collection[str]) -> tuple[str, str]:
    """Return which variable is meant and its text, which is in a file where the name ends with `_FILE`."""
    meant = name.removesuffix(_OF_A_FILE)
    if name == meant or name in variables or not (meant in variables or meant.startswith(_PROPERTY)):
        return name, environ[name]
    if name.startswith(_PROPERTY) and _property(name) in NAME_A_FILE:
        return name, environ[name]
    if environ.get(meant):
        raise SettingsError(f"{name}: {meant} is set too; which of them is meant?")
    return meant, read_secret(name, Path(environ[name]))


def _property(variable: str) -> str:
    return variable.removeprefix(_PROPERTY).lower().replace("_", ".")


def _from_variable(name: str, place: Place, text: str, groups: set[str]) -> Iterator[Leaf]:
    if len(place) == 1 and place[0] in groups:
        yield from _leaves({place[0]: _object(name, text)}, name, groups)
    else:
        yield place, None if text == "null" else _items(text), name


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise SettingsError(f"{name}: must hold a JSON object")
    return value


def _items(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith("[") else text
    except (ValueError, RecursionError):
        return text


def _is_foreign(name: str, text: str) -> bool:
    """Tell whether a variable is not ours to judge; Kubernetes adds some for a Service called pelton."""
    if _READ_ELSEWHERE.fullmatch(name) or _OF_KUBERNETES.fullmatch(name):
        return True
    return name.endswith("_PORT") and "://" in text
