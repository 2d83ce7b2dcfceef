"""The same event in another batch: equal to 1e-6, and to the byte where one fixed shape is asked for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from pelton.errors import SettingsError

Rigs = Callable[..., Any]
Write = Callable[..., Path]

WIDTH, MAX_SIZE = 384, 50
CODE = """
import numpy
import torch
from pelton.models.torch_model import TorchModel

class Wide(TorchModel):
    def build(self):
        return torch.nn.Linear(384, 1)

    def prepare(self, events):
        return torch.from_numpy(numpy.array([event.xs for event in events], numpy.float32))
"""


@pytest.fixture
def wide(write_package: Write) -> Path:
    """A package around Linear(384, 1), whose kernels depend on the batch shape."""
    torch.manual_seed(24)
    module = torch.nn.Linear(WIDTH, 1)
    row = torch.randn(WIDTH)
    with torch.no_grad():
        score = module(row).item()
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": WIDTH, "maxItems": WIDTH}
    return write_package(
        CODE,
        entry="model:Wide",
        input={"type": "object", "required": ["xs"], "properties": {"xs": numbers}},
        tensors=module.state_dict(),
        cases=[{"event": {"xs": row.tolist()}, "score": score}],
    )


def scores_by_batch(rig: Any) -> list[list[bytes]]:
    """Return the bytes of each event's scores in batches of every kind of size, and in every place of a batch."""
    torch.manual_seed(7)
    events = rig.events(*({"xs": row} for row in torch.randn(MAX_SIZE, WIDTH).tolist()))
    seen: list[list[bytes]] = [[] for _ in events]
    for size in (1, 3, 7, 16, 31, 49, 50):
        for start in range(0, len(events), size):
            for row, score in enumerate(rig.scorer.score(events[start : start + size]), start):
                seen[row].append(json.dumps(score).encode())
    for turn in (1, 7, 13, 24, 37, 49):
        for place, score in enumerate(rig.scorer.score(events[turn:] + events[:turn])):
            seen[(place + turn) % MAX_SIZE].append(json.dumps(score).encode())
    return seen


def test_scores_differ_in_the_last_bits_without_a_fixed_shape(rig: Rigs, wide: Path) -> None:
    seen = scores_by_batch(rig(wide, MAX_SIZE))
    # This gives the next test its teeth: on kernels that never differ it would prove nothing.
    assert any(len(set(scores)) > 1 for scores in seen)
    for scores in seen:
        assert [float(score) for score in scores] == pytest.approx([float(scores[0])] * len(scores), abs=1e-6)


def test_scores_are_equal_to_the_byte_with_a_fixed_shape(rig: Rigs, wide: Path) -> None:
    fixed = rig(wide, MAX_SIZE, fixed_shape=True)
    fixed.scorer.start()
    assert [scores for scores in scores_by_batch(fixed) if len(set(scores)) > 1] == []


def test_a_fixed_shape_that_cannot_make_scores_equal_is_refused(rig: Rigs, write_package: Write) -> None:
    code = """
import torch

class Uneven:
    def __init__(self, package_dir, device): ...
    def prepare(self, events): return torch.tensor([event.x for event in events], dtype=torch.float64)
    def forward(self, inputs): return inputs * 2 + torch.arange(len(inputs)) * 1e-12
    def finish(self, outputs): return outputs
"""
    folder = write_package(code, entry="model:Uneven")
    rig(folder, MAX_SIZE).scorer.start()
    with pytest.raises(SettingsError, match=r"batch\.fixed_shape cannot be kept: .*line 1"):
        rig(folder, MAX_SIZE, fixed_shape=True).scorer.start()
