"""From events to what the network sees: the one preprocessing, of training and of serving.

Columns, not rows: a list comprehension per column, then numpy over all events at once.
"""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

import numpy as np
import torch

Inputs = tuple[torch.Tensor, torch.Tensor]
"""Rows of the embedding table, int64 (events, 5), and numbers, float32 (events, N_NUMBERS); all finite."""

_CARRIERS = "9E AA AS B6 DL EV F9 FL HA MQ OO UA US VX WN YV"
_ORIGINS = "EWR JFK LGA"
_DESTINATIONS = """
    ABQ ACK ALB ANC ATL AUS AVL BDL BGR BHM BNA BOS BQN BTV BUF BUR BWI BZN CAE CAK CHO CHS CLE CLT CMH CRW CVG DAY
    DCA DEN DFW DSM DTW EGE EYW FLL GRR GSO GSP HDN HNL HOU IAD IAH ILM IND JAC JAX LAS LAX LEX LGA LGB MCI MCO MDW
    MEM MHT MIA MKE MSN MSP MSY MTJ MVY MYR OAK OKC OMA ORD ORF PBI PDX PHL PHX PIT PSE PSP PVD PWM RDU RIC ROC RSW
    SAN SAT SAV SBN SDF SEA SFO SJC SJU SLC SMF SNA SRQ STL STT SYR TPA TUL TVC TYS XNA
"""

_MEASURES = {  # what it is: (about its mean, about its deviation)
    "distance": (1000.0, 700.0),
    "block": (200.0, 100.0),
    "slack": (48.0, 12.0),
    "temp": (55.0, 18.0),
    "dewp": (42.0, 19.0),
    "spread": (13.0, 10.0),
    "humid": (60.0, 20.0),
    "wind_east": (0.0, 10.0),
    "wind_north": (0.0, 10.0),
    "wind_speed": (10.0, 6.0),
    "wind_gust": (25.0, 6.0),
    "precip": (0.0, 0.1),
    "rain": (0.0, 1.0),
    "pressure": (1018.0, 7.0),
    "visib": (10.0, 3.0),
}
_CLOCK = 4  # sine and cosine of the time of day, the time of day, the minute
N_NUMBERS = _CLOCK + 2 * len(_MEASURES)
"""Width of the numbers: the clock, then every measure, then for every measure whether it is missing."""

MEASURES = slice(_CLOCK, _CLOCK + len(_MEASURES))
MISSING = slice(MEASURES.stop, N_NUMBERS)
WEATHER_MEASURES = tuple(i for i, name in enumerate(_MEASURES) if name not in ("distance", "block", "slack"))
"""Positions of the weather among the measures."""

_WORDS = [words.split() for words in (_CARRIERS, _ORIGINS, _DESTINATIONS)]
_FIRST_ROWS = np.cumsum([0, *(1 + len(words) for words in _WORDS), 7, 24]).tolist()
N_ROWS: int = _FIRST_ROWS[-1]
"""Rows of the embedding table that all categories share: carrier, origin, destination, weekday, hour."""

UNKNOWN_ROWS = tuple(_FIRST_ROWS[:3])
"""The row of an unknown carrier, origin and destination."""

_CARRIER, _ORIGIN, _DESTINATION = (
    {word: row for row, word in enumerate(words, start=unknown + 1)}
    for words, unknown in zip(_WORDS, UNKNOWN_ROWS, strict=True)
)
_WEEKDAY_ROW, _HOUR_ROW = _FIRST_ROWS[3:5]

_fields = attrgetter(
    *("carrier", "origin", "dest", "scheduled_departure", "scheduled_arrival", "distance"),
    *("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"),
)
_CENTRE, _SCALE = np.array(list(_MEASURES.values())).T[:, :, None]
_STORM_MPH, _CRUISE_MILES_PER_MIN = 60.0, 7.5
_MINUTE = timedelta(minutes=1)
_FAR = 1e5  # beyond every sensor, and far below where squares and differences overflow


def encode(events: Sequence[Any]) -> Inputs:
    """Turn events into the network's inputs, in their order.

    Whatever is missing or was never seen in training has a place of its own. Raises ValueError for a time
    that is not ISO 8601, TypeError when only one of the two times has an offset.
    """
    carrier, origin, dest, departure, arrival, *measured = zip(*map(_fields, events), strict=True)
    departures = list(map(datetime.fromisoformat, departure))
    minutes = np.array([at.hour * 60 + at.minute for at in departures])
    categories = np.empty((len(events), 5), np.int64)
    categories[:, 0] = [_CARRIER.get(word, UNKNOWN_ROWS[0]) for word in carrier]
    categories[:, 1] = [_ORIGIN.get(word, UNKNOWN_ROWS[1]) for word in origin]
    categories[:, 2] = [_DESTINATION.get(word, UNKNOWN_ROWS[2]) for word in dest]
    categories[:, 3] = [_WEEKDAY_ROW + at.weekday() for at in departures]
    categories[:, 4] = _HOUR_ROW + minutes // 60
    numbers = np.empty((N_NUMBERS, len(events)), np.float32)
    _write_clock(minutes, numbers[:_CLOCK])
    measures = _measures(_block_min(departures, arrival), np.array(measured, np.float64))
    numbers[MISSING] = missing = np.isnan(measures)
    numbers[MEASURES] = np.where(missing, 0.0, measures)
    return torch.from_numpy(categories), torch.from_numpy(numbers.T.copy())


def _block_min(departures: list[datetime], arrival: Sequence[str | None]) -> list[float | None]:
    parse = datetime.fromisoformat
    return [
        None if at is None else (parse(at) - departs) / _MINUTE for at, departs in zip(arrival, departures, strict=True)
    ]


def _write_clock(minutes: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    turn = minutes * (2 * math.pi / 1440)
    np.sin(turn, out=out[0], casting="same_kind")
    np.cos(turn, out=out[1], casting="same_kind")
    out[2] = minutes / 360 - 2
    out[3] = (minutes % 60) / 30 - 1


def _measures(block_min: list[float | None], measured: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return one row per measure, centred and scaled, NaN where it is missing."""
    known = np.clip(measured, -_FAR, _FAR)  # None is NaN by now, and stays it
    distance, temp, dewp, humid, wind_dir, wind_speed, wind_gust, precip, pressure, visib = known
    block = np.clip(np.array(block_min, np.float64), -_FAR, _FAR)
    speed, angle = np.clip(wind_speed, 0.0, _STORM_MPH), np.deg2rad(wind_dir)
    measures = np.stack(
        (
            *(distance, block, block - distance / _CRUISE_MILES_PER_MIN),
            *(temp, dewp, temp - dewp, humid),
            *(speed * np.sin(angle), speed * np.cos(angle), speed, wind_gust),
            *(precip, np.log1p(100.0 * np.maximum(precip, 0.0)), pressure, visib),
        )
    )
    scaled: np.ndarray[Any, Any] = np.clip((measures - _CENTRE) / _SCALE, -4.0, 4.0)
    return scaled
