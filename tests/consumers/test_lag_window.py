"""The rate at which a partition moved of late, and how long its lag takes at that rate."""

import pytest

from pelton.consumers.lag import Behind
from pelton.consumers.lag_window import GAP_S, LagWindow


def moved(*samples: tuple[float, int, int]) -> LagWindow:
    """Return a window of (seconds, reached, end)."""
    window = LagWindow(60)
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
    window = moved((0, 0, 10_000), (10, 6000, 10_000), *((10 + n, 6000 + n, 10_000) for n in range(5, 61, 5)))
    assert window.per_s() == 1.0
    assert window.span_s(70) == 60


def test_over_a_gap_nobody_knows_what_happened() -> None:
    assert moved((0, 0, 100), (GAP_S, 50, 100)).per_s() == 50 / GAP_S
    window = moved((0, 0, 100), (GAP_S + 1, 50, 100))
    assert (window.per_s(), window.span_s(GAP_S + 3), window.age_s(GAP_S + 3)) == (0.0, 2, 2)
