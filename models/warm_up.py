"""Warm-up: real calls at every batch shape in use, whose scores must be the golden ones."""

from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any

from pelton.errors import DeviceLost, ModelError, OutOfMemory, PackageError, SettingsError
from pelton.models.golden import GoldenCase, agrees
from pelton.models.package import ModelPackage
from pelton.models.protocol import Model
from pelton.schemas.rejection import Rejection

Score = Callable[[Sequence[Any]], list[Any]]
_Pair = tuple[GoldenCase, Any]

_PLACED_CASES = 4


def warm_up(model: Model, package: ModelPackage, sizes: Sequence[int], score: Score) -> None:
    """Call the model's own warm-up, then score the golden cases at every size, and all of them at least once.

    Raises PackageError if the model raises, a score is not the golden one, or the package has neither golden
    cases nor a warm-up of its own; OutOfMemory or DeviceLost if the device gives up.
    """
    if not package.golden and _has_no_warmup(model):
        raise PackageError(
            f"{_title(package)} cannot be warmed up: add golden cases (golden: golden.jsonl in model.yaml), "
            "or give the model a warmup method"
        )
    try:
        if not _has_no_warmup(model):
            model.warmup(sizes)
    except Exception as error:
        if isinstance(error, OutOfMemory | DeviceLost):
            raise
        raise PackageError(f"the warmup method of {_title(package)} raised {type(error).__name__}: {error}") from error
    if package.golden:
        _score_golden(package, sizes, score)


def check_places(package: ModelPackage, max_size: int, score: Score) -> None:
    """Check that the place in the batch does not change a score, which one fixed batch shape is meant to bring.

    Raises SettingsError if it does: some kernels share rows out among threads unevenly.
    """
    for case, event in _decoded(package)[:_PLACED_CASES]:
        scores = score([event] * max_size)
        if any(other != scores[0] for other in scores):
            raise SettingsError(
                f"batch.fixed_shape cannot be kept: {_case(package, case)} scores differently by its place in the "
                "batch; threads: 1 may help"
            )


def _has_no_warmup(model: Model) -> bool:
    return getattr(type(model), "warmup", Model.warmup) is Model.warmup


def _score_golden(package: ModelPackage, sizes: Sequence[int], score: Score) -> None:
    pairs = _decoded(package)
    for size in sizes:
        _check(package, list(islice(cycle(pairs), size)), score)
    most = max(sizes)
    for start in range(most, len(pairs), most):
        _check(package, pairs[start : start + most], score)


def _decoded(package: ModelPackage) -> list[_Pair]:
    events = package.codec().decode([case.event for case in package.golden])
    for case, event in zip(package.golden, events, strict=True):
        if isinstance(event, Rejection):
            raise PackageError(f"{_case(package, case)} does not fit the input schema: {event.reason}")
    return list(zip(package.golden, events, strict=True))


def _check(package: ModelPackage, pairs: list[_Pair], score: Score) -> None:
    try:
        scores = score([event for _, event in pairs])
    except (OutOfMemory, DeviceLost):
        raise
    except ModelError as error:
        raise PackageError(f"{_title(package)}, in a batch of {len(pairs)}: {error}") from error
    for (case, _), got in zip(pairs, scores, strict=True):
        if isinstance(got, Rejection):
            raise PackageError(
                f"{_case(package, case)} has no score in a batch of {len(pairs)}: "
                f"{got.exception} in {got.stage}: {got.reason}"
            )
        if not agrees(case.score, got, package.manifest.tolerance):
            raise PackageError(
                f"{_case(package, case)}: expected {case.score}, got {got} in a batch of {len(pairs)} "
                f"(tolerance {package.manifest.tolerance})"
            )


def _case(package: ModelPackage, case: GoldenCase) -> str:
    return f"the golden case in line {case.line} of {package.manifest.golden} ({_title(package)})"


def _title(package: ModelPackage) -> str:
    return f"model {package.name} {package.version_address}"
