"""The flights as events: what an airline's system would send, and nothing that is only known later."""

from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import pytest

from pelton.errors import SourceFileError


@pytest.fixture
def source(module: Any) -> ModuleType:
    found: ModuleType = module("flights")
    return found


def only(source: ModuleType, folder: Path) -> dict[str, Any]:
    """Return the one event that these tables make."""
    [(event, _)] = source.flights(folder=folder)
    return dict(event)


def test_a_real_flight_is_the_event_one_reads_off_the_tables(autumn: list[Any]) -> None:
    assert autumn[0] == (
        {
            "flight_id": "2013-09-01-UA-1545-EWR",
            "carrier": "UA",
            "flight": 1545,
            "origin": "EWR",
            "dest": "IAH",
            "distance": 1400,
            "scheduled_departure": "2013-09-01T05:16:00-04:00",
            "scheduled_arrival": "2013-09-01T08:00:00-05:00",
            "temp": 75.2,
            "dewp": 71.96,
            "humid": 93.54,
            "wind_dir": 210.0,
            "wind_speed": 11.5078,
            "wind_gust": None,
            "precip": 0.0,
            "pressure": None,
            "visib": 10.0,
        },
        False,
    )


def test_flights_come_in_the_order_of_scheduled_departure(autumn: list[Any]) -> None:
    departures = [datetime.fromisoformat(event["scheduled_departure"]) for event, _ in autumn]
    assert len(departures) == 111_866  # rows of flights.csv with a month from 9, counted by awk
    assert all(earlier <= later for earlier, later in pairwise(departures))


def test_flight_ids_are_unique(autumn: list[Any]) -> None:
    assert len({event["flight_id"] for event, _ in autumn}) == len(autumn)


@pytest.mark.parametrize(("delay", "label"), [("15", False), ("16", True), ("-40", False), ("NA", None)])
def test_late_means_more_than_15_minutes_and_who_never_arrived_has_no_label(
    source: ModuleType, tables: Any, delay: str, label: bool | None
) -> None:
    [(_, got)] = source.flights(folder=tables.flights({"arr_delay": delay}))
    assert got is label


@pytest.mark.parametrize("column", ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum"])
def test_what_is_known_only_later_never_shows_in_the_event(source: ModuleType, tables: Any, column: str) -> None:
    before = only(source, tables.flights({}))
    assert only(source, tables.flights({column: "NA"})) == before
    assert only(source, tables.flights({column: "999"})) == before


def test_the_weather_is_that_of_the_hour_before(source: ModuleType, tables: Any) -> None:
    """The row of the departure's own hour may have been read after the departure."""
    hours = ("19", "20", "21", "22")
    tables.weather(*({"time_hour": f"2013-07-01T{hour}:00:00Z", "precip": f"0.{hour}"} for hour in hours))
    assert only(source, tables.flights({}))["precip"] == 0.20


@pytest.mark.parametrize("row", [{"origin": "LGA"}, {"time_hour": "2013-07-01T21:00:00Z"}])
def test_no_observation_leaves_all_weather_null(source: ModuleType, tables: Any, row: dict[str, str]) -> None:
    tables.weather(row)
    event = only(source, tables.flights({}))
    assert {event[name] for name in source.WEATHER} == {None}


@pytest.mark.parametrize(
    ("row", "departure", "arrival"),
    [
        ({}, "2013-07-01T17:05:00-04:00", "2013-07-01T19:45:00-07:00"),
        ({"dest": "PHX"}, "2013-07-01T17:05:00-04:00", "2013-07-01T19:45:00-07:00"),
        ({"dest": "HNL"}, "2013-07-01T17:05:00-04:00", "2013-07-01T19:45:00-10:00"),
        ({"dest": "SJU", "sched_arr_time": "2058"}, "2013-07-01T17:05:00-04:00", "2013-07-01T20:58:00-04:00"),
        ({"dest": "MIA", "sched_arr_time": "5"}, "2013-07-01T17:05:00-04:00", "2013-07-02T00:05:00-04:00"),
        (
            {"month": "1", "hour": "23", "minute": "59", "time_hour": "2013-01-02T04:00:00Z", "sched_arr_time": "315"},
            "2013-01-01T23:59:00-05:00",
            "2013-01-02T03:15:00-08:00",
        ),
        (
            {"month": "1", "dest": "PHX", "time_hour": "2013-01-01T22:00:00Z"},
            "2013-01-01T17:05:00-05:00",
            "2013-01-01T19:45:00-07:00",
        ),
        (
            {"hour": "23", "minute": "30", "time_hour": "2013-07-02T03:00:00Z", "sched_arr_time": "20"},
            "2013-07-01T23:30:00-04:00",
            "2013-07-02T00:20:00-07:00",
        ),
    ],
)
def test_times_are_local_with_the_offset_of_the_day(
    source: ModuleType, tables: Any, row: dict[str, str], departure: str, arrival: str
) -> None:
    event = only(source, tables.flights(row))
    assert (event["scheduled_departure"], event["scheduled_arrival"]) == (departure, arrival)


def test_planned_durations_are_those_of_airliners(autumn: list[Any]) -> None:
    """Beyond cruising at 450 mph, gate to gate takes 5 to 75 minutes more; a wrong zone is off by 60."""
    more_min: dict[str, list[float]] = defaultdict(list)
    for event, _ in autumn:
        departs, arrives = (datetime.fromisoformat(event[f"scheduled_{what}"]) for what in ("departure", "arrival"))
        more_min[event["dest"]].append((arrives - departs).total_seconds() / 60 - event["distance"] / 7.5)
    medians = {dest: median(values) for dest, values in more_min.items() if dest != "HNL"}  # far, against the wind
    assert {dest: value for dest, value in medians.items() if not 5 < value < 75} == {}


def test_only_the_months_asked_for_are_read(source: ModuleType, tables: Any) -> None:
    folder = tables.flights({}, {"month": "12", "time_hour": "2013-12-01T22:00:00Z"})
    assert [event["flight_id"] for event, _ in source.flights([12], folder)] == ["2013-12-01-B6-21-JFK"]


def test_absent_tables_are_told_by_their_path(source: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match=r"weather\.csv cannot be read"):
        next(source.flights(folder=tmp_path))


def test_a_broken_archive_is_told_by_its_path(source: ModuleType, tables: Any) -> None:
    (tables.folder / "flights.csv.zip").write_bytes(b"not a zip")
    with pytest.raises(SourceFileError, match=r"flights\.csv\.zip cannot be read"):
        next(source.flights(folder=tables.folder))


def test_an_absent_data_package_is_told_with_the_cure(source: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    with pytest.raises(SourceFileError, match=r"pip install 'pelton\[demo\]'"):
        next(source.flights())
