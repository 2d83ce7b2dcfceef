"""What is wrong with the settings, in words: path, value, where it came from, why, and the nearest right name."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pelton.schemas.kafka_properties import OFTEN_USED, is_secret
from pelton.schemas.rejection import printable

Path = tuple[str | int, ...]
"""Where a setting lies: names of groups, then of the setting, then places in a list."""

HIDDEN: Final = object()
"""In place of a value that must not be shown."""
MISSING: Final = object()
"""In place of a value that is not there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a dotted path, the value found there and the reason."""

    path: str
    value: Any
    why: str

    def line(self, origins: Mapping[str, str]) -> str:
        """Return the problem on one line; `origins` tells for each path where its value came from."""
        shown = "" if self.value is MISSING else f" = {_shown(self.path, self.value)}"
        origin = origins.get(self.path.partition("[")[0])
        return f"{self.path}{shown}{f' (from {origin})' if origin else ''}: {self.why}"


def explain(error: ValidationError, model: type[BaseModel], origins: Mapping[str, str]) -> str:
    """Return one line for each thing pydantic found wrong with the settings `model`."""
    details = error.errors(include_url=False)
    known = list(paths(model))
    # Skipped: pydantic names a default that hangs on another setting which is wrong itself.
    problems = [_problem(item, known) for item in details if item["type"] != "default_factory_not_called"]
    return "\n".join(problem.line(origins) for problem in problems)


def paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every group and setting of `model`."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from paths(kind, f"{prefix}{name}.")


def dotted(path: Iterable[str | int]) -> str:
    """Return `path` as people write it: `stream.topics[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known dotted path that was probably meant by `name`, or None."""
    candidates = list(known)
    if homonyms := [path for path in candidates if path.endswith(f".{name}")]:
        return homonyms[0]
    if name.rpartition("_")[2].lower() in {"brokers", "broker"}:  # as the flag is called
        return next(
            (path for path in candidates if path.lower().endswith(("bootstrap.servers", "bootstrap_servers"))), None
        )
    last = name.rpartition(".")[2]
    alike = [path for path in candidates if path.rpartition(".")[2] == last]
    close = difflib.get_close_matches(name, alike or candidates, n=1, cutoff=0.0 if alike else 0.7)
    if close:
        return close[0]
    by_last = {path.rpartition(".")[2]: path for path in candidates}
    return next((by_last[word] for word in difflib.get_close_matches(last, by_last, n=1, cutoff=0.75)), None)


def no_such(name: str, known: Iterable[str], what: str = "setting") -> str:
    """Return the reason for a `name` that is not `known`, with the nearest right one; `what` is what it is not."""
    meant = nearest(name, known)
    return f"no such {what}; the nearest right name is {meant}" if meant else f"no such {what}"


def _problem(item: ErrorDetails, known: list[str]) -> Problem:
    path = dotted(part for part in item["loc"] if part != "[key]")
    if item["type"] == "missing":
        return Problem(path, MISSING, "is missing and has no default")
    if item["type"] == "extra_forbidden":
        # As with properties: a name that nobody knows may be that of a secret, misspelt.
        return Problem(path, MISSING, no_such(path, [*known, *(f"kafka.{name}" for name in OFTEN_USED)]))
    why = item["msg"].removeprefix("Value error, ")
    if item["type"] == "literal_error":
        words = [word.strip("'") for word in item["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        close = difflib.get_close_matches(str(item["input"]), words, n=1)
        why += f"; the nearest is '{close[0]}'" if close else ""
    return Problem(path, item["input"], why)


def _shown(path: str, value: Any) -> str:
    if value is HIDDEN or path == "kafka" or is_secret(path):
        return "(not shown)"
    if isinstance(value, (str, int, float, bool)) or value is None:
        return printable(repr(value) if isinstance(value, str) else str(value), 80)
    return "(a mapping)" if isinstance(value, dict) else "(a list)"
