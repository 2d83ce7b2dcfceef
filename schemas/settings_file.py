"""Reading the settings file: YAML, one mapping, no key twice."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from pelton.errors import SettingsError
from pelton.schemas.yaml_loader import SafeLoader


def read_file(path: Path) -> dict[Any, Any]:
    """Return the mapping in the YAML file `path`, empty for an empty file; raises SettingsError otherwise."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    return _parse(text, path)


def _parse(text: str, path: Path) -> dict[Any, Any]:
    try:
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        # Not the whole message: it quotes the line, which may hold a secret.
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsError(f"{path}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise SettingsError(f"{path}: not YAML") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: must hold settings as a mapping, such as `model: flight-delay`")
    return data


class _Loader(SafeLoader):
    """Refuses a key given twice, where YAML's own loader keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"the key {key.value[:80]!r} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)
