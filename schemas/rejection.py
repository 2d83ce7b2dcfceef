"""What takes the place of an event, or of a score, that is not going to be one."""

from dataclasses import dataclass
from typing import Final, Literal

from pelton.schemas.codes import Code

Stage = Literal["decode", "prepare", "forward", "finish", "produce"]
"""Where on its road a record failed."""

MAX_REASON: Final = 500
"""Longest reason kept, in characters."""
MAX_NAME: Final = 200
"""Longest class or model name kept, in characters."""


def printable(text: str, limit: int) -> str:
    """Return `text` on one line, without control characters or lone surrogates, cut to `limit` characters."""
    cut = text[: limit + 1]
    if not cut.isprintable():
        cut = "".join(char if char.isprintable() else _escape(char) for char in cut)
    return cut if len(cut) <= limit else cut[: limit - 1] + "…"


def _escape(char: str) -> str:
    return " " if char.isspace() else char.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one record has no score; `reason` is cut to 500 characters and made printable."""

    code: Code
    reason: str
    stage: Stage
    exception: str
    attempts: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", printable(self.reason, MAX_REASON))
        object.__setattr__(self, "exception", printable(self.exception, MAX_NAME))

    @classmethod
    def of(cls, error: BaseException, code: Code, stage: Stage, attempts: int = 1) -> "Rejection":
        """Return the rejection that tells of `error`, by its own words and its full class name."""
        return cls(code, describe(error), stage, class_name(error), attempts)


def class_name(error: BaseException) -> str:
    """Return the dotted class name of `error`, without `builtins.`."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def describe(error: BaseException) -> str:
    """Return what `error` says, or its class name when it says nothing or cannot even be printed."""
    try:
        return str(error) or class_name(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not take the batch along
        return class_name(error)


class Tombstone:
    """The kind of `TOMBSTONE`; there is one instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TOMBSTONE"

    def __reduce__(self) -> str:
        return "TOMBSTONE"


TOMBSTONE: Final = Tombstone()
"""A record with a null value: a deletion marker, not an event and not an error."""
