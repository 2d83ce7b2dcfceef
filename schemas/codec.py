"""From the bytes of a record to an event, or to the reason why there is none."""

from collections.abc import Sequence
from typing import Any

import msgspec

from pelton.errors import PackageError
from pelton.schemas.input_schema import InputSchema
from pelton.schemas.refusal import reject, with_whole_numbers
from pelton.schemas.rejection import TOMBSTONE, Rejection, Tombstone

Decoded = msgspec.Struct | Rejection | Tombstone
"""What one record's value turns into."""


class EventCodec:
    """Decodes event values by an input schema, a column at a time; no value can make it raise.

    `id_attribute` and `time_attribute` are the attributes of the decoded events that hold their id and time,
    None where the model declares none. Raises PackageError when a declared field does not exist or fit.
    """

    def __init__(self, schema: InputSchema, id_field: str | None = None, time_field: str | None = None) -> None:
        self.schema = schema
        self.id_attribute = _attribute(schema, "id_field", id_field, ("string", "integer"))
        self.time_attribute = _attribute(schema, "time_field", time_field, ("string", "integer", "number"))

    def decode(self, values: Sequence[bytes | None]) -> list[Decoded]:
        """Return one event, `Rejection` or `TOMBSTONE` for each value, in order."""
        decode: Any = self.schema.decoder.decode
        events: list[Decoded] = []
        append = events.append
        for value in values:
            try:
                append(decode(value))
            except Exception as error:  # noqa: BLE001 - one record must never fail its neighbours
                append(TOMBSTONE if value is None else self._look_again(value, error))
        _reject_foreign_bytes(values, events)
        return events

    def _look_again(self, value: bytes, error: Exception) -> Decoded:
        """JSON Schema calls 12.0 an integer; the quick decoder does not."""
        if isinstance(error, msgspec.ValidationError) and "got `float`" in str(error):
            try:
                return self.schema.decoder.decode(with_whole_numbers(value))  # type: ignore[no-any-return]
            except msgspec.ValidationError as second:
                error = second
            except (ValueError, RecursionError):
                return reject(value, error)
        return reject(value, error)


def _reject_foreign_bytes(values: Sequence[bytes | None], events: list[Decoded]) -> None:
    """Reject what is not UTF-8 in a field that the quick decoder skipped over."""
    together = b"".join(filter(None, values))
    if together.isascii() or _is_utf8(together):
        return
    for row, value in enumerate(values):
        if value and isinstance(events[row], msgspec.Struct) and not _is_utf8(value):
            events[row] = reject(value, ValueError("not UTF-8"))


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _attribute(schema: InputSchema, role: str, field: str | None, kinds: tuple[str, ...]) -> str | None:
    if field is None:
        return None
    if field not in schema.attributes:
        raise PackageError(f"{role}: {field!r} is not a property of the input schema")
    if (kind := schema.type_of(field)) not in kinds:
        raise PackageError(f"{role}: {field!r} is of type {kind}; it must be {' or '.join(kinds)}")
    return schema.attribute(field)
