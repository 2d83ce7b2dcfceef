"""Out of memory: half the batch, outside the handler, and remembered."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pelton.errors import OutOfMemory
from pelton.models import bisect
from pelton.schemas.codes import Code

Rigs = Callable[..., Any]


def out_of_memory() -> torch.OutOfMemoryError:
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")


class Tight:
    """Twice the number, for batches of so many rows; an event of 1000 and more never fits."""

    def __init__(self, rows: int, error: Callable[[], Exception] = out_of_memory) -> None:
        self.rows, self.error = rows, error
        self.batches: list[int] = []
        self.held: list[weakref.ref[torch.Tensor]] = []

    def prepare(self, events: list[Any]) -> torch.Tensor:
        return torch.tensor([event.x for event in events], dtype=torch.float32)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.batches.append(len(inputs))
        work = inputs * 2
        self.held.append(weakref.ref(work))
        if len(inputs) > self.rows or inputs.max() >= 1000:
            raise self.error()
        return work

    def finish(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs


def test_b25_a_batch_that_finds_no_room_is_halved_and_the_size_remembered(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8), max_size=32)
    expected = [2.0 * x for x in range(32)]
    assert tight.scorer.score(tight.numbers(*range(32))) == expected
    assert tight.model.batches == [32, 16, 8, 8, 8, 8]
    assert tight.scorer.ceiling == 8
    tight.model.batches.clear()
    assert tight.scorer.score(tight.numbers(*range(32))) == expected
    assert tight.model.batches == [8, 8, 8, 8]


def test_b25_the_ceiling_rises_again_when_there_is_room(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8), max_size=32)
    events = tight.numbers(*range(32))
    tight.scorer.score(events)
    tight.model.rows = 32
    for _ in range(250):
        tight.scorer.score(events)
    assert tight.scorer.ceiling == 32
    assert tight.model.batches[-1] == 32


def test_b25_a_rise_that_fails_costs_one_call_and_no_record(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8), max_size=32)
    events = tight.numbers(*range(32))
    for _ in range(60):
        assert tight.scorer.score(events) == [2.0 * x for x in range(32)]
    assert set(tight.model.batches[3:]) <= {10, 8, 6, 5, 4, 2, 1}
    assert 10 in tight.model.batches
    assert tight.scorer.ceiling == 8


def test_b25_powers_of_two_stay_powers_of_two_under_the_ceiling(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8), max_size=32, package="slow-shapes")
    assert tight.scorer.score(tight.numbers(*range(30))) == [2.0 * x for x in range(30)]
    assert {rows for rows in tight.model.batches if rows & (rows - 1)} == set()
    assert tight.scorer.ceiling == 8


def test_b25_memory_is_released_before_the_next_try(rig_of: Rigs) -> None:
    class Watching(Tight):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            alive = [ref() is not None for ref in self.held]
            assert not any(alive), "tensors of the failed call are still held"
            return super().forward(inputs)

    gc.disable()
    try:
        tight = rig_of(Watching(rows=2), max_size=16)
        assert tight.scorer.score(tight.numbers(*range(16))) == [2.0 * x for x in range(16)]
    finally:
        gc.enable()


def test_b25_cached_device_memory_is_given_back_before_the_next_try(
    rig_of: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight = rig_of(Tight(rows=2), max_size=8)
    monkeypatch.setattr(bisect, "release_memory", lambda: tight.model.batches.append(0))
    tight.scorer.score(tight.numbers(*range(8)))
    assert tight.model.batches == [8, 0, 4, 0, 2, 2, 2, 2]


@pytest.mark.parametrize("place", [0, 13, 31])
def test_b25_one_record_that_never_fits_is_a_dead_letter_and_lowers_nothing(rig_of: Rigs, place: int) -> None:
    tight = rig_of(Tight(rows=32), max_size=32)
    numbers = [float(x) for x in range(32)]
    numbers[place] = 1000.0
    outcomes = tight.scorer.score(tight.numbers(*numbers))
    culprit = outcomes.pop(place)
    assert (culprit.code, culprit.exception) == (Code.MODEL_ERROR, "torch.OutOfMemoryError")
    assert culprit.attempts == 6
    assert outcomes == [2.0 * x for x in range(32) if x != place]
    assert tight.scorer.ceiling == 32


def test_b25_three_different_records_in_a_row_without_room_alone_are_the_devices_fault(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=0), max_size=8)
    with pytest.raises(OutOfMemory, match="3 records in a row found no memory"):
        tight.scorer.score(tight.numbers(*range(8)))
    singles = [rows for rows in tight.model.batches if rows == 1]
    assert len(singles) == 3


def test_b25_the_row_of_misses_goes_on_over_batches_and_ends_with_a_success(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8))
    for number in (1001.0, 1002.0):
        assert tight.scorer.score(tight.numbers(number))[0].code is Code.MODEL_ERROR
    assert tight.scorer.score(tight.numbers(1.0)) == [2.0]
    for number in (1003.0, 1004.0):
        assert tight.scorer.score(tight.numbers(number))[0].code is Code.MODEL_ERROR
    with pytest.raises(OutOfMemory):
        tight.scorer.score(tight.numbers(1005.0))


def test_b25_one_record_tried_again_and_again_counts_once(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8))
    for _ in range(5):
        assert tight.scorer.score(tight.numbers(1001.0))[0].code is Code.MODEL_ERROR


@pytest.mark.parametrize(
    "error",
    [
        MemoryError,
        lambda: RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
        lambda: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        lambda: RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you"),
    ],
)
def test_b25_every_way_of_saying_out_of_memory_is_understood(rig_of: Rigs, error: Callable[[], Exception]) -> None:
    tight = rig_of(Tight(rows=2, error=error), max_size=4)
    assert tight.scorer.score(tight.numbers(1, 2, 3, 4)) == [2.0, 4.0, 6.0, 8.0]
    assert tight.scorer.ceiling == 2


def test_b25_one_wrapped_by_the_models_own_error_is_understood(rig_of: Rigs) -> None:
    def wrapped() -> Exception:
        error = ValueError("scoring failed")
        error.__cause__ = out_of_memory()
        return error

    tight = rig_of(Tight(rows=2, error=wrapped), max_size=4)
    assert tight.scorer.score(tight.numbers(1, 2, 3, 4)) == [2.0, 4.0, 6.0, 8.0]
    assert tight.scorer.ceiling == 2


def test_b25_a_fixed_shape_is_kept_and_the_record_without_room_still_found(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=16), max_size=16, fixed_shape=True)
    numbers = [float(x) for x in range(16)]
    numbers[3] = 1000.0
    outcomes = tight.scorer.score(tight.numbers(*numbers))
    assert outcomes.pop(3).code is Code.MODEL_ERROR
    assert outcomes == [2.0 * x for x in range(16) if x != 3]
    assert set(tight.model.batches) == {16}
    assert tight.scorer.ceiling == 16
    tight.model.rows = 8
    with pytest.raises(OutOfMemory):
        tight.scorer.score(tight.numbers(*range(16)))


def test_b25_a_fixed_shape_that_found_no_room_once_lowers_no_ceiling(rig_of: Rigs) -> None:
    tight = rig_of(Tight(rows=8), max_size=16, fixed_shape=True)
    tight.model.error = lambda: setattr(tight.model, "rows", 16) or out_of_memory()
    assert tight.scorer.score(tight.numbers(*range(16))) == [2.0 * x for x in range(16)]
    assert tight.model.batches == [16, 16, 16]
    assert tight.scorer.ceiling == 16
