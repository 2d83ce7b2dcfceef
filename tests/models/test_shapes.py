"""Batch shapes: which sizes a model is called with."""

import pytest

from pelton.models.manifest import BatchShapes
from pelton.models.shapes import Shapes


@pytest.mark.parametrize(
    ("kind", "max_size", "in_use"),
    [
        (BatchShapes.ANY, 256, (1, 256)),
        (BatchShapes.ANY, 1, (1,)),
        (BatchShapes.POWERS_OF_TWO, 32, (1, 2, 4, 8, 16, 32)),
        (BatchShapes.POWERS_OF_TWO, 20, (1, 2, 4, 8, 16, 20)),
        (BatchShapes.POWERS_OF_TWO, 1, (1,)),
        (BatchShapes.FIXED, 256, (256,)),
        (BatchShapes.FIXED, 50, (64,)),
        (BatchShapes.FIXED, 1, (16,)),
    ],
)
def test_shapes_in_use(kind: BatchShapes, max_size: int, in_use: tuple[int, ...]) -> None:
    assert Shapes(kind, max_size).in_use == in_use


@pytest.mark.parametrize("kind", [BatchShapes.POWERS_OF_TWO, BatchShapes.FIXED])
@pytest.mark.parametrize("max_size", [1, 2, 3, 16, 20, 33])
def test_every_batch_is_padded_to_the_least_shape_that_holds_it(kind: BatchShapes, max_size: int) -> None:
    shapes = Shapes(kind, max_size)
    for n in range(1, max_size + 1):
        assert shapes.padded(n) == min(shape for shape in shapes.in_use if shape >= n)


@pytest.mark.parametrize("n", [1, 7, 256])
def test_any_size_is_left_alone(n: int) -> None:
    assert Shapes(BatchShapes.ANY, 256).padded(n) == n


@pytest.mark.parametrize(
    ("kind", "limit", "fitting"),
    [
        (BatchShapes.ANY, 20, 20),
        (BatchShapes.ANY, 10, 10),
        (BatchShapes.POWERS_OF_TWO, 20, 20),
        (BatchShapes.POWERS_OF_TWO, 19, 16),
        (BatchShapes.POWERS_OF_TWO, 1, 1),
        (BatchShapes.FIXED, 1, 20),
    ],
)
def test_how_many_events_fit_under_a_limit_of_rows(kind: BatchShapes, limit: int, fitting: int) -> None:
    assert Shapes(kind, 20).fitting(limit) == fitting
