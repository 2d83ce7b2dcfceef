"""What went wrong in one call of a model, told without keeping the exception and the tensors it holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Self

import torch

from pelton.models.device import device_fault
from pelton.models.package_code import PREFIX
from pelton.schemas.rejection import Stage, class_name, describe

# Anchored, and only in RuntimeErrors: a record whose text quotes such a message must not end the process.
_DEVICE_LOST = re.compile(
    r"(CUDA error|HIP error|Triton Error \[(CUDA|HIP)\]|cuDNN error): .{0,40}?"
    r"(device-side assert|illegal memory access|illegal address|illegal instruction|misaligned address"
    r"|invalid program counter|unspecified launch failure|launch timed out|hardware stack error|uncorrectable"
    r"|context is destroyed|driver shutting down|device.{0,20} (lost|unavailable|no longer)"
    r"|STATUS_EXECUTION_FAILED)",
    re.IGNORECASE,
)
_OUT_OF_MEMORY = re.compile(
    r"(CUDA|HIP) (error: )?out of memory|(CUDA|cuDNN) error: \w*STATUS_ALLOC_FAILED"
    r"|.{0,80}DefaultCPUAllocator: (can't allocate|not enough) memory",
    re.IGNORECASE,
)


class FailureKind(Enum):
    """What a failure calls for."""

    RAISED = auto()
    NOT_FINITE = auto()
    OUT_OF_MEMORY = auto()
    DEVICE_LOST = auto()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call: its stage, exception and words; `rows` are the culprits where they are known."""

    kind: FailureKind
    stage: Stage
    exception: str
    reason: str
    where: str = ""
    rows: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: BaseException, stage: Stage, device: object = None) -> Self:
        """Return the failure that an exception of a model on `device` means."""
        reason, kind = describe(error), _kind(error)
        if kind is FailureKind.RAISED and (fault := device_fault(device)):
            reason, kind = f"{reason} (the device says: {fault})", FailureKind.DEVICE_LOST
        return cls(kind, stage, class_name(error), reason, _where(error))


def _kind(error: BaseException) -> FailureKind:
    for link in _chain(error):
        if isinstance(link, torch.OutOfMemoryError | MemoryError):
            return FailureKind.OUT_OF_MEMORY
        if isinstance(link, RuntimeError):
            if _DEVICE_LOST.match(describe(link)):
                return FailureKind.DEVICE_LOST
            if _OUT_OF_MEMORY.match(describe(link)):
                return FailureKind.OUT_OF_MEMORY
    return FailureKind.RAISED


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _where(error: BaseException) -> str:
    place, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith(PREFIX):
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
