"""Types of single settings that more than one group uses."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field


def no_boolean(value: Any) -> Any:
    """Refuse true and false, which Python would take for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


def _separated(value: Any) -> Any:
    """Let an environment variable or a flag give a list as `a,b`."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    for row, value in enumerate(values):
        if value in values[:row]:
            raise ValueError(f"names {value!r} twice")
    return values


TOPIC_NAME: Final = r"^[a-zA-Z0-9._-]{1,249}$"
"""What the name of a topic must look like; `.` and `..` are no names all the same."""


def _topic(name: str) -> str:
    if name in {".", ".."}:
        raise ValueError("is not a name Kafka allows for a topic")
    return name


def _whole(name: str) -> str:
    # librdkafka cuts white space off before a group's name, or dies of a name that is nothing else; admin calls do not.
    if name != name.strip() or "\0" in name:
        raise ValueError("may not begin or end with white space, nor hold a NUL")
    return name


Count = Annotated[int, Field(ge=1), BeforeValidator(no_boolean)]
"""A whole number, 1 or more."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(no_boolean)]
"""A time in seconds, more than 0 and finite."""
Topic = Annotated[str, Field(pattern=TOPIC_NAME), AfterValidator(_topic)]
"""A name that Kafka allows for a topic."""
Name = Annotated[str, Field(min_length=1), AfterValidator(_whole)]
"""Any text but the empty one, without white space around it."""
Topics = Annotated[tuple[Topic, ...], Field(min_length=1), BeforeValidator(_separated), AfterValidator(_distinct)]
"""One or more topics, each named once."""
Names = Annotated[tuple[Name, ...], BeforeValidator(_separated), AfterValidator(_distinct)]
"""Any number of names, each once."""
