"""The ceiling of the batch size: falls at once, rises slowly, never beyond what was asked for."""

from pelton.models.ceiling import GOOD_BATCHES, Ceiling


def good(ceiling: Ceiling, batches: int, *, full: bool = True) -> list[bool]:
    return [ceiling.passed(full=full) for _ in range(batches)]


def test_b25_the_ceiling_halves_and_rises_by_a_quarter_after_50_full_batches() -> None:
    ceiling = Ceiling(32)
    ceiling.lower(32)
    ceiling.lower(16)
    assert ceiling.limit == 8
    assert good(ceiling, 50) == [False] * 49 + [True]
    assert ceiling.limit == 10
    seen = []
    while ceiling.limit < 32:
        good(ceiling, GOOD_BATCHES)
        seen.append(ceiling.limit)
    assert seen == [12, 15, 18, 22, 27, 32]
    assert not any(good(ceiling, 500))
    assert ceiling.limit == 32


def test_b25_small_batches_prove_nothing() -> None:
    ceiling = Ceiling(32)
    ceiling.lower(32)
    assert not any(good(ceiling, 500, full=False))
    assert ceiling.limit == 16


def test_b25_a_rise_that_was_too_bold_goes_back_to_what_was_proven() -> None:
    ceiling = Ceiling(32)
    ceiling.lower(32)
    good(ceiling, GOOD_BATCHES)
    assert ceiling.limit == 20
    ceiling.lower(20)
    assert ceiling.limit == 16
    ceiling.lower(16)
    assert ceiling.limit == 8


def test_b25_the_ceiling_never_falls_below_one_and_leaves_it_again() -> None:
    ceiling = Ceiling(2)
    ceiling.lower(2)
    ceiling.lower(1)
    assert ceiling.limit == 1
    good(ceiling, GOOD_BATCHES)
    assert ceiling.limit == 2
