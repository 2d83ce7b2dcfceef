"""The window: full means waiting with delivery reports served, and never an error."""

from collections.abc import Callable

import pytest

from pelton.errors import BrokerUnavailable
from pelton.producers.window import Window, WindowLimits


def unfailing() -> None:
    """The check of a sink that is well."""


def window_that_frees(most: int, per_round: int) -> tuple[Window, list[float]]:
    """A window at which `per_round` reports come whenever they are served; and the waits asked for."""
    waits: list[float] = []

    def serve(timeout_s: float) -> None:
        waits.append(timeout_s)
        window.leave(min(per_round, window.in_flight), 0)

    window = Window(WindowLimits(most), serve)
    return window, waits


def test_room_is_taken_without_waiting_up_to_the_bound() -> None:
    window, waits = window_that_frees(10, 1)
    for _ in range(5):
        window.enter(2, unfailing)
    assert (window.in_flight, waits) == (10, [])


def test_b46_the_last_place_is_waited_for_by_serving_reports() -> None:
    window, waits = window_that_frees(10, 1)
    window.enter(10, unfailing)
    window.enter(3, unfailing)
    assert (window.in_flight, len(waits)) == (10, 3)
    assert all(wait_s > 0 for wait_s in waits)


def test_more_than_the_bound_is_let_in_alone() -> None:
    window, waits = window_that_frees(10, 5)
    window.enter(8, unfailing)
    window.enter(25, unfailing)
    assert (window.in_flight, len(waits)) == (25, 2)


def test_a_failure_ends_the_wait_and_takes_no_room() -> None:
    rounds = iter([None, None, BrokerUnavailable("gone")])

    def check() -> None:
        if error := next(rounds):
            raise error

    window, waits = window_that_frees(10, 0)
    window.enter(10, unfailing)
    with pytest.raises(BrokerUnavailable):
        window.enter(1, check)
    assert (window.in_flight, len(waits)) == (10, 2)


def raising(error: Exception) -> Callable[[], None]:
    def check() -> None:
        raise error

    return check


def test_a_failure_is_told_even_where_there_is_room() -> None:
    window, _ = window_that_frees(10, 0)
    with pytest.raises(BrokerUnavailable):
        window.enter(1, raising(BrokerUnavailable("gone")))
    assert window.in_flight == 0
