"""A dead device context: recognised at once, and nothing is scored or rejected after it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pelton.errors import DeviceLost
from pelton.models import failure
from pelton.schemas.codes import Code

Rigs = Callable[..., Any]

DEAD = [
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported",
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: unspecified launch failure",
    "CUDA error: an illegal instruction was encountered",
    "CUDA error: misaligned address",
    "CUDA error: the launch timed out and was terminated",
    "CUDA error: uncorrectable ECC error encountered",
    "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, opa, opb)`",
    "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "HIP error: an illegal memory access was encountered",
    "Triton Error [CUDA]: an illegal memory access was encountered",
]
ALIVE = [
    RuntimeError("CUDA error: invalid argument"),
    RuntimeError("CUDA error: no kernel image is available for execution on the device"),
    RuntimeError("The size of tensor a (3) must match the size of tensor b (5)"),
    ValueError("CUDA error: device-side assert triggered"),
    RuntimeError("no such word: 'CUDA error: device-side assert triggered'"),
]


class Dying:
    """Twice the number until the third batch, then the given error at every call."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    def prepare(self, events: list[Any]) -> torch.Tensor:
        self.calls += 1
        return torch.tensor([event.x for event in events])

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.calls >= 3:
            raise self.error
        return inputs * 2

    def finish(self, outputs: torch.Tensor) -> torch.Tensor:
        return outputs


@pytest.mark.parametrize("message", DEAD, ids=lambda message: message[:50])
def test_b42_a_dead_context_ends_scoring_at_once_and_for_good(rig_of: Rigs, message: str) -> None:
    dying = rig_of(Dying(torch.AcceleratorError(message)))
    events = dying.numbers(1, 2, 3, 4)
    assert dying.scorer.score(events) == dying.scorer.score(events) == [2.0, 4.0, 6.0, 8.0]
    with pytest.raises(DeviceLost) as caught:
        dying.scorer.score(events)
    assert str(caught.value) == message
    assert dying.model.calls == 3
    with pytest.raises(DeviceLost):
        dying.scorer.score(events)
    assert dying.model.calls == 3


def test_b42_one_wrapped_by_the_models_own_error_is_recognised(rig_of: Rigs) -> None:
    error = ValueError("embedding failed")
    error.__cause__ = RuntimeError(DEAD[0])
    dying = rig_of(Dying(error))
    dying.model.calls = 2
    with pytest.raises(DeviceLost, match="embedding failed"):
        dying.scorer.score(dying.numbers(1, 2))


@pytest.mark.parametrize("error", ALIVE, ids=str)
def test_b42_other_errors_and_records_that_quote_such_words_kill_nothing(rig_of: Rigs, error: Exception) -> None:
    dying = rig_of(Dying(error))
    dying.model.calls = 2
    assert [outcome.code for outcome in dying.scorer.score(dying.numbers(1, 2))] == [Code.MODEL_ERROR] * 2


def test_b42_a_device_that_no_longer_answers_is_lost_whatever_the_first_words(
    rig_of: Rigs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure, "device_fault", lambda device: f"{device} is gone")
    dying = rig_of(Dying(ValueError("nonsense shape -1094795586")))
    dying.model.calls, dying.model.device = 2, torch.device("cuda", 0)
    with pytest.raises(DeviceLost, match=r"nonsense shape .* \(the device says: cuda:0 is gone\)"):
        dying.scorer.score(dying.numbers(1, 2))
    assert dying.model.calls == 3


def test_b42_a_fault_of_the_device_shows_where_it_is_waited_for(rig_of: Rigs, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_: object) -> None:
        raise torch.AcceleratorError(DEAD[0])

    fine = rig_of(Dying(ValueError("unused")))
    fine.model.device = torch.device("cuda", 0)
    monkeypatch.setattr("pelton.models.device._in_use", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", die)
    with pytest.raises(DeviceLost, match="device-side assert"):
        fine.scorer.score(fine.numbers(1, 2))
    assert fine.model.calls == 1
