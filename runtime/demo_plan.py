"""What the demo sends: real flights in time order, and here and there one broken in a known way."""

import json
import random
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from pelton.demo_records import Planned
from pelton.errors import DemoFailed
from pelton.schemas.codes import Code

Event = Mapping[str, Any]

BROKEN_SHARE = 0.01
SEED = 2013


def plan(flights: Iterable[tuple[Event, bool | None]], events: int, seed: int = SEED) -> list[Planned]:
    """Return `events` intact flights and, spread among them, one broken record for each 99 of them.

    `flights` yields events and whether they came late, in time order; broken records are further flights of
    the same stretch of time. The kinds of breakage take turns. Raises DemoFailed when there are too few.
    """
    broken = max(len(BREAKAGES), round(events * BROKEN_SHARE / (1 - BROKEN_SHARE)))
    chosen = list(islice(flights, events + broken))
    if len(chosen) < events + broken:
        raise DemoFailed(f"there are only {len(chosen) - broken} flights to replay; ask for fewer --events")
    # Only order and choice come from the seed: nothing secret.
    rows = random.Random(seed).sample(range(len(chosen)), broken)
    kinds = list(BREAKAGES.values())
    breakage = {row: kinds[turn % len(kinds)] for turn, row in enumerate(sorted(rows))}
    return [_planned(event, label, breakage.get(row)) for row, (event, label) in enumerate(chosen)]


Breakage = tuple[Code, Callable[[dict[str, Any]], bytes]]


def _planned(event: Event, label: bool | None, breakage: Breakage | None) -> Planned:
    key = str(event["flight_id"])
    if breakage is None:
        return Planned(key, msgspec.json.encode(event), None, label)
    code, destroy = breakage
    return Planned(key, destroy(dict(event)), code)


def _cut_short(event: dict[str, Any]) -> bytes:
    whole = msgspec.json.encode(event)
    return whole[: len(whole) // 2]


def _wrong_type(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode({**event, "distance": "far"})


def _missing_field(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode({name: value for name, value in event.items() if name != "origin"})


def _not_a_number(event: dict[str, Any]) -> bytes:
    return json.dumps({**event, "distance": float("nan")}).encode()


def _empty(_event: dict[str, Any]) -> bytes:
    return b""


def _json_null(_event: dict[str, Any]) -> bytes:
    return b"null"


def _not_utf8(event: dict[str, Any]) -> bytes:
    return msgspec.json.encode({**event, "origin": "?"}).replace(b'"?"', b'"\xff\xfe"')


BREAKAGES: Mapping[str, Breakage] = {
    "not JSON": (Code.MALFORMED, _cut_short),
    "wrong type": (Code.INVALID, _wrong_type),
    "missing field": (Code.INVALID, _missing_field),
    "NaN": (Code.NOT_FINITE, _not_a_number),
    "empty": (Code.MALFORMED, _empty),
    "JSON null": (Code.MALFORMED, _json_null),
    "not UTF-8": (Code.MALFORMED, _not_utf8),
}
"""Every way in which the demo breaks a record, with the code its dead letter must have."""
