"""The preprocessing that training and serving share."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

EVENT = {
    "flight_id": "x",
    "carrier": "UA",
    "origin": "EWR",
    "dest": "IAH",
    "distance": 1400,
    "scheduled_departure": "2013-01-01T05:15:00-05:00",
    "scheduled_arrival": "2013-01-01T08:19:00-06:00",
    "temp": 40.0,
    "dewp": 30.0,
    "humid": 62.0,
    "wind_dir": 90.0,
    "wind_speed": 20.0,
    "wind_gust": 30.0,
    "precip": 0.1,
    "pressure": 1012.0,
    "visib": 9.0,
}
CLOCK, DISTANCE, BLOCK, SLACK, WIND_EAST, WIND_NORTH = slice(0, 4), 4, 5, 6, 11, 12


@pytest.fixture
def features(module: Any) -> ModuleType:
    found: ModuleType = module("features")
    return found


@pytest.fixture
def encode(features: ModuleType, decode: Any) -> Any:
    """Encode one event that differs from EVENT by these fields; return its categories and numbers."""

    def one(**changes: Any) -> tuple[list[int], np.ndarray[Any, Any]]:
        categories, numbers = features.encode(decode([{**EVENT, **changes}]))
        return categories[0].tolist(), numbers[0].numpy()

    return one


def test_shapes_and_types_are_those_the_network_takes(features: ModuleType, decode: Any) -> None:
    categories, numbers = features.encode(decode([EVENT] * 3))
    assert (categories.shape, categories.dtype) == ((3, 5), torch.int64)
    assert (numbers.shape, numbers.dtype) == ((3, features.N_NUMBERS), torch.float32)


def test_an_event_is_encoded_the_same_alone_and_among_others(
    features: ModuleType, decode: Any, sample: list[Any]
) -> None:
    events = decode(sample[:40])
    together = features.encode(events)
    alone = [features.encode([event]) for event in events]
    for column in (0, 1):
        assert torch.equal(together[column], torch.cat([each[column] for each in alone]))


def test_every_category_of_the_data_has_a_row_of_its_own(features: ModuleType, decode: Any, autumn: list[Any]) -> None:
    events = [event for event, _ in autumn[::5]]
    categories = features.encode(decode(events))[0].numpy()
    for column, field in enumerate(("carrier", "origin", "dest")):
        rows = dict(zip((event[field] for event in events), categories[:, column].tolist(), strict=True))
        assert len(set(rows.values())) == len(rows)
        assert features.UNKNOWN_ROWS[column] not in rows.values()
    used = [set(categories[:, column].tolist()) for column in range(5)]
    assert sum(map(len, used)) == len(set.union(*used))
    assert max(map(max, used)) < features.N_ROWS


@pytest.mark.parametrize(("column", "field"), [(0, "carrier"), (1, "origin"), (2, "dest")])
@pytest.mark.parametrize("word", ["??", "", "ua", "é"])
def test_an_unknown_word_gets_the_unknown_row(
    features: ModuleType, encode: Any, column: int, field: str, word: str
) -> None:
    known, numbers = encode()
    got, same_numbers = encode(**{field: word})
    assert got == [features.UNKNOWN_ROWS[column] if i == column else row for i, row in enumerate(known)]
    assert np.array_equal(numbers, same_numbers)


def test_weekday_and_hour_are_local(encode: Any) -> None:
    tuesday_5h, _ = encode()
    assert encode(scheduled_departure="2013-01-01T06:00:00-05:00")[0] == [*tuesday_5h[:4], tuesday_5h[4] + 1]
    assert encode(scheduled_departure="2013-01-02T05:00:00-05:00")[0] == [
        *tuesday_5h[:3],
        tuesday_5h[3] + 1,
        tuesday_5h[4],
    ]


def test_the_clock_runs_round(encode: Any) -> None:
    six = encode(scheduled_departure="2013-01-01T06:30:00-05:00")[1][CLOCK]
    assert six == pytest.approx([np.sin(2 * np.pi * 390 / 1440), np.cos(2 * np.pi * 390 / 1440), 390 / 360 - 2, 0.0])


def test_planned_duration_crosses_time_zones(encode: Any) -> None:
    """05:15 in New York to 08:19 in Houston are 4 h 04 min."""
    numbers = encode()[1]
    assert numbers[[DISTANCE, BLOCK, SLACK]] == pytest.approx(
        [(1400 - 1000) / 700, (244 - 200) / 100, (244 - 1400 / 7.5 - 48) / 12], abs=1e-6
    )


def test_wind_is_a_vector(encode: Any) -> None:
    assert encode()[1][[WIND_EAST, WIND_NORTH]] == pytest.approx([2.0, 0.0], abs=1e-6)
    assert encode(wind_dir=180.0)[1][[WIND_EAST, WIND_NORTH]] == pytest.approx([0.0, -2.0], abs=1e-6)


@pytest.mark.parametrize(
    ("field", "n_missing"),
    [
        *[("distance", 2), ("scheduled_arrival", 2), ("temp", 2), ("dewp", 2), ("humid", 1), ("wind_dir", 2)],
        *[("wind_speed", 3), ("wind_gust", 1), ("precip", 2), ("pressure", 1), ("visib", 1)],
    ],
)
def test_a_missing_value_is_marked_and_its_place_is_zero(
    features: ModuleType, encode: Any, field: str, n_missing: int
) -> None:
    known, numbers = encode()[1], encode(**{field: None})[1]
    missing = numbers[features.MISSING] == 1.0
    assert not known[features.MISSING].any()
    assert missing.sum() == n_missing
    assert not numbers[features.MEASURES][missing].any()
    assert np.array_equal(numbers[features.MEASURES][~missing], known[features.MEASURES][~missing])


@pytest.mark.parametrize("value", [1e308, -1e308, 1048.4, -1.0, 0])
def test_readings_beyond_reason_stay_finite_and_bounded(encode: Any, value: float) -> None:
    weather = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
    for field in (*weather, "distance"):
        assert np.abs(encode(**{field: value})[1]).max() <= 4.0
    assert np.abs(encode(temp=value, dewp=-value)[1]).max() <= 4.0


@pytest.mark.parametrize("field", ["scheduled_departure", "scheduled_arrival"])
@pytest.mark.parametrize("text", ["tomorrow", "", "2013-13-01T00:00:00-05:00"])
def test_a_time_that_is_none_is_refused(encode: Any, field: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|month"):
        encode(**{field: text})


def test_times_with_and_without_offset_do_not_mix(encode: Any) -> None:
    with pytest.raises(TypeError, match="offset"):
        encode(scheduled_arrival="2013-01-01T08:19:00")
