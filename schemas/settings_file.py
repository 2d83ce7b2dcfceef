"""Reading files: of settings (YAML, one mapping, no key twice), and of one secret."""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from pelton.errors import SettingsError
from pelton.schemas.yaml_loader import SafeLoader

MOST_SECRET_BYTES = 64 * 1024
_QUOTED = re.compile(r" (?:'[^']*'|\"[^\"]*\")")


def read_file(path: Path) -> dict[Any, Any]:
    """Return the mapping in the YAML file `path`, empty for an empty file; raises SettingsError otherwise."""
    return _parse(_read(path), path)


def read_secret(variable: str, path: Path) -> str:
    """Return the text of the file that an environment variable names, without the line break at its end.

    Raises SettingsError, which tells nothing of the text, when it cannot be read, is empty or beyond 64 KiB.
    """
    try:
        text = _read(path, MOST_SECRET_BYTES + 1).rstrip("\r\n")
    except SettingsError as error:
        raise SettingsError(f"{variable}: {error}") from None
    if not text or len(text.encode()) > MOST_SECRET_BYTES:
        raise SettingsError(f"{variable}: {path}: {'too long for a secret' if text else 'is empty'}")
    return text


def _read(path: Path, most_bytes: int = -1) -> str:
    try:
        with path.open("rb") as file:
            return file.read(most_bytes).decode()
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def _parse(text: str, path: Path) -> dict[Any, Any]:
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        # Not the whole message: it quotes the line, which may hold a secret, and so may the name of an alias or a tag.
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = error.problem or error.context or ""
        told = problem if isinstance(error, _KeyTwice) else _QUOTED.sub("", problem)
        raise SettingsError(f"{path}{line}: not YAML: {told}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SettingsError(f"{path}: not YAML") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: must hold settings as a mapping, such as `model: flight-delay`")
    return data


class _KeyTwice(yaml.constructor.ConstructorError):
    pass


class _Loader(SafeLoader):
    """Refuses a key given twice, where YAML's own loader keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"the key {key.value[:80]!r} is given twice"
                raise _KeyTwice(None, None, problem, key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)
