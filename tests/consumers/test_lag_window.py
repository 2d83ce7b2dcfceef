"""The rate at which a partition moved of late, and how long its lag takes at that rate."""

import pytest

from pelton.consumers.lag import Behind
from pelton.consumers.lag_window import WINDOW_S, LagWindow


def moved(*samples: tuple[float, int, int]) -> LagWindow:
    """Return a window of (seconds, reached, end)."""
    window = LagWindow()
    for at_s, reached, end in samples:
        window.add(Behind(end - reached, reached, end), at_s)
    return window


@pytest.mark.parametrize(
    ("samples", "per_s", "drain_s"),
    [
        ([], 0.0, None),
        ([(0, 10, 10)], 0.0, 0.0),
        ([(0, 10, 20)], 0.0, None),
        ([(0, 10, 110), (10, 30, 110)], 2.0, 40.0),
        ([(0, 10, 110), (5, 10, 110), (10, 30, 170)], 2.0, 70.0),
        ([(0, 10, 110), (10, 110, 110)], 10.0, 0.0),
        ([(0, 10, 110), (10, 10, 110)], 0.0, None),
        ([(0, 50, 110), (10, 10, 110)], 0.0, None),  # set back
    ],
)
def test_drain_time_is_the_lag_at_the_rate_of_the_window(
    samples: list[tuple[float, int, int]], per_s: float, drain_s: float | None
) -> None:
    window = moved(*samples)
    assert (window.per_s(), window.drain_s()) == (per_s, drain_s)


def test_what_is_older_than_the_window_counts_no_more() -> None:
    window = moved((0, 0, 10_000), (10, 6000, 10_000), (10 + WINDOW_S, 6060, 10_000))
    assert window.per_s() == 60 / WINDOW_S
