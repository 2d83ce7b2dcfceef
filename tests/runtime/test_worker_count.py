"""`workers: 0`: one per GPU that may be seen, or else one per core."""

import os
from pathlib import Path
from typing import Any

import pytest

from pelton.schemas.settings import Settings
from pelton.worker_count import worker_count

STREAM = {"topics": ["in"], "group": "g", "sink": "out"}


def count(tmp_path: Path, n_gpus: int, visible: str | None = None, **settings: Any) -> int:
    for number in range(n_gpus):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    made = Settings(model="m", stream=STREAM, **{"workers": 0, **settings})
    return worker_count(made, environ, tmp_path if n_gpus else tmp_path / "no driver")


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def test_a_number_is_taken_as_it_is(tmp_path: Path) -> None:
    assert count(tmp_path, 4, workers=3) == 3


@pytest.mark.parametrize(
    ("visible", "expected"), [(None, 4), ("0,1", 2), ("2", 1), ("", 8), ("-1", 8), ("0,-1,2", 1), ("0,1,2,3,4,5", 4)]
)
def test_zero_is_one_per_gpu_that_may_be_seen(tmp_path: Path, visible: str | None, expected: int) -> None:
    assert count(tmp_path, 4, visible) == expected


@pytest.mark.parametrize(("threads", "expected"), [(1, 8), (3, 2), (16, 1)])
def test_without_gpu_zero_is_as_many_as_the_cores_hold(tmp_path: Path, threads: int, expected: int) -> None:
    assert count(tmp_path, 0, threads=threads) == expected


@pytest.mark.parametrize(("device", "expected"), [("cpu", 8), ("cuda:1", 1), ("cuda", 2)])
def test_the_device_decides_what_is_counted(tmp_path: Path, device: str, expected: int) -> None:
    assert count(tmp_path, 2, device=device) == expected
