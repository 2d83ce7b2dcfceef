"""The headers that tell why a record is in the dead-letter topic."""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from pelton.schemas import headers
from pelton.schemas.codes import Code
from pelton.schemas.records import Message
from pelton.schemas.rejection import MAX_NAME, MAX_REASON, Rejection, Stage, printable

MAX_TOPIC: Final = 249
"""Longest topic name that Kafka allows."""

Headers = list[tuple[str, str | bytes | None]]
"""Headers by the type the producer takes; values are bytes, or null where the original's are."""

_OURS = frozenset(headers.DEAD_LETTER_HEADERS)
_UNREADABLE = " (the original headers were lost: a name among them is not UTF-8)"


class DeadLetterHeaders(BaseModel):
    """Headers added to a dead letter; key, value and the other headers are the original's, byte for byte."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    topic: str = Field(alias=headers.ERROR_TOPIC, max_length=MAX_TOPIC, description="Topic of the original record.")
    partition: str = Field(alias=headers.ERROR_PARTITION, pattern=r"^\d+$", description="Its partition, in digits.")
    offset: str = Field(alias=headers.ERROR_OFFSET, pattern=r"^\d+$", description="Its offset, in digits.")
    stage: Stage = Field(alias=headers.ERROR_STAGE, description="Where on its road the record failed.")
    exception: str = Field(alias=headers.ERROR_EXCEPTION, max_length=MAX_NAME, description="Class of the exception.")
    message: str = Field(alias=headers.ERROR_MESSAGE, max_length=MAX_REASON, description="Why, on one printable line.")
    code: Code = Field(alias=headers.ERROR_CODE, description="One of the closed set of codes.")
    attempts: str = Field(
        alias=headers.ATTEMPTS, pattern=r"^\d+$", description="How often the record was tried, in digits."
    )
    model: str = Field(
        alias=headers.MODEL, max_length=MAX_NAME, description="The model that refused it, as name@version."
    )


def dead_letter_headers(message: Message, rejection: Rejection, model: str) -> Headers:
    """Return the headers of the dead letter for `message`: its own byte for byte, then ours.

    Headers of ours that it carries from an earlier pass are replaced. When the client cannot read its headers,
    because a name is not UTF-8, only ours are returned and the message says so.
    """
    original, note = _original(message)
    kept = [(name, value) for name, value in original if name not in _OURS]
    ours = (
        printable(message.topic() or "", MAX_TOPIC),
        str(message.partition()),
        str(message.offset()),
        rejection.stage,
        rejection.exception,
        printable(rejection.reason, MAX_REASON - len(note)) + note,
        rejection.code.value,
        str(rejection.attempts),
        printable(model, MAX_NAME),
    )
    return kept + [(name, text.encode()) for name, text in zip(headers.DEAD_LETTER_HEADERS, ours, strict=True)]


def _original(message: Message) -> tuple[list[tuple[str, Any]], str]:
    try:
        return list(message.headers() or ()), ""
    except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
        return [], _UNREADABLE
