"""Looking for NaN and infinity in what goes into a model and in what comes out."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from pelton.errors import ModelError

_SMALLEST_INT, _LARGEST_INT = -(2**63), 2**64 - 1


def non_finite_inputs(inputs: Any, n: int) -> dict[int, str]:
    """Return the rows that hold NaN or infinity, each with the name of the input at fault.

    Only floating-point tensors and arrays with `n` rows are looked at, alone or inside tuples and mappings; a
    list is taken for one item an event, in the model's own form.
    """
    bad: dict[int, str] = {}
    for name, column in _columns(inputs, "the input"):
        if len(column.shape) and column.shape[0] == n:
            bad.update(dict.fromkeys(_non_finite_rows(column), name))
    return bad


def plain_scores(scores: Any) -> tuple[list[Any], dict[int, str]]:
    """Return scores as plain Python values, and what is wrong with those that cannot be written as JSON.

    Raises ModelError if `scores` is not a sequence.
    """
    if isinstance(scores, torch.Tensor | np.ndarray):
        column = scores.detach().cpu() if isinstance(scores, torch.Tensor) else scores
        if not column.ndim:
            raise ModelError("finish returned a single value; it must return one score for each event")
        scores = column.tolist()
        if isinstance(column, torch.Tensor) or column.dtype.kind in "fiub":
            return scores, {row: f"the score is {scores[row]}" for row in _non_finite_rows(column)}
    if isinstance(scores, str | bytes | Mapping) or not (hasattr(scores, "__len__") and hasattr(scores, "__iter__")):
        raise ModelError(f"finish returned {type(scores).__name__}; it must return a list or tensor of scores")
    return _plain_list(list(scores))


def _columns(inputs: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(inputs, torch.Tensor | np.ndarray):
        yield name, inputs
    elif isinstance(inputs, Mapping):
        for key, value in inputs.items():
            yield from _columns(value, f"input {key}")
    elif isinstance(inputs, tuple):
        for position, value in enumerate(inputs):
            yield from _columns(value, f"input {position}")


def _non_finite_rows(column: Any) -> list[int]:
    if isinstance(column, torch.Tensor):
        return _non_finite_tensor_rows(column)
    if column.dtype.kind != "f":
        return []
    finite = np.isfinite(column)
    return [] if finite.all() else np.flatnonzero(~finite.reshape(len(column), -1).all(axis=1)).tolist()


def _non_finite_tensor_rows(column: torch.Tensor) -> list[int]:
    if not column.is_floating_point() or column.layout is not torch.strided or column.is_nested:
        return []
    # NaN and infinity survive every sum, so one finite sum clears the whole tensor, in two calls where a look at each
    # element takes six. A sum that overflows only costs that look.
    if math.isfinite(column.sum(dtype=None if column.itemsize > 2 else torch.float32).item()):
        return []
    finite = torch.isfinite(column)
    rows: list[int] = (~finite.reshape(len(column), -1).all(dim=1)).nonzero()[:, 0].tolist()
    return rows


def _plain_list(scores: list[Any]) -> tuple[list[Any], dict[int, str]]:
    kinds = set(map(type, scores))
    if kinds == {float} and math.isfinite(sum(scores)):
        return scores, {}
    if kinds == {str} and "".join(scores).isascii():
        return scores, {}
    faults = {}
    for row, score in enumerate(scores):
        try:
            scores[row] = _plain(score)
        except (TypeError, ValueError, RecursionError) as error:
            faults[row] = f"the score cannot be written: {error}"
    return scores, faults


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return _finite(float(value))
    if isinstance(value, int):
        return _in_range(int(value))
    if isinstance(value, str):
        value.encode()
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"it holds {value}")
    return value


def _in_range(value: int) -> int:
    if not _SMALLEST_INT <= value <= _LARGEST_INT:
        raise ValueError("it holds an integer of more than 64 bits")
    return value


def _text(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{type(key).__name__} is not a JSON key")
    key.encode()
    return key
