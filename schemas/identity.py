"""Where an event's id and time come from."""

from operator import attrgetter
from typing import Any

from pelton.schemas.headers import CE_ID, CE_SOURCE, IDEMPOTENCY_KEY
from pelton.schemas.records import Message, Records
from pelton.schemas.rejection import Rejection, Tombstone


def event_ids(records: Records, id_field: str | None) -> list[str]:
    """Return one id for each record: the first of these that exists.

    1. the attribute `id_field` of the event, when it is not None or empty
    2. the CloudEvents headers, as `ce_source/ce_id`
    3. the header `idempotency-key`
    4. `topic/partition/offset`
    """
    if id_field is None:
        return [_from_message(records, row) for row in range(len(records))]
    ids = _column(records.events, id_field)
    if set(map(type, ids)) == {str} and all(ids):
        return ids
    return [value if value and type(value) is str else _other(value, records, row) for row, value in enumerate(ids)]


def event_times(records: Records, time_field: str | None) -> list[Any] | None:
    """Return the attribute `time_field` of each event, None for records without; None without a field."""
    return None if time_field is None else _column(records.events, time_field)


def _column(events: list[Any], name: str) -> list[Any]:
    kinds = set(map(type, events))
    if kinds.isdisjoint((Rejection, Tombstone)):
        return list(map(attrgetter(name), events))
    return [None if isinstance(event, (Rejection, Tombstone)) else getattr(event, name) for event in events]


def _other(value: Any, records: Records, row: int) -> str:
    return str(value) if type(value) is int else _from_message(records, row)


def _from_message(records: Records, row: int) -> str:
    found = _from_headers(records.messages[row])
    return found or f"{records.topic}/{records.partition}/{records.offsets[row]}"


def _from_headers(message: Message) -> str | None:
    try:
        headers = message.headers()
    except Exception:  # noqa: BLE001 - the client decodes header names strictly and may raise anything
        return None
    if not headers:
        return None
    named = dict(headers)
    source, event_id = named.get(CE_SOURCE), named.get(CE_ID)
    if source and event_id:
        return f"{_text(source)}/{_text(event_id)}"
    key = named.get(IDEMPOTENCY_KEY)
    return _text(key) if key else None


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
