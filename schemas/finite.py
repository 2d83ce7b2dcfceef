"""Whether plain data can be strict JSON, which has no NaN and no infinity."""

import math
from typing import Any


def is_finite(plain: Any) -> bool:
    """Tell whether every number in plain data (dicts, lists, tuples, numbers, text) is finite."""
    if isinstance(plain, float):
        return math.isfinite(plain)
    if isinstance(plain, dict):
        return all(map(is_finite, plain.values()))
    return all(map(is_finite, plain)) if isinstance(plain, (list, tuple)) else True
