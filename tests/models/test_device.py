"""The device: what its name means here, and whether it still answers."""

from types import SimpleNamespace

import pytest
import torch

from pelton.errors import SettingsError
from pelton.models import device
from pelton.models.device import device_fault, gpu_uuid, resolve_device, wait_for


def test_auto_is_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert resolve_device("auto") == torch.device("cuda")


def test_each_worker_has_the_next_of_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [resolve_device(name, worker).index for name in ("auto", "cuda") for worker in (0, 1, 2)] == [0, 1, 0] * 2
    assert resolve_device("cuda:1", worker=0).index == 1


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "meta", "cpu0"])
def test_names_of_no_device_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="cuda:N"):
        resolve_device(name)


def test_a_cuda_device_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="finds no CUDA device"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(SettingsError, match="only 2 CUDA devices"):
        resolve_device("cuda:2")


def test_only_a_cuda_device_in_use_is_asked_whether_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_: torch.device) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "synchronize", die)
    assert device_fault(torch.device("cuda")) == ""
    monkeypatch.setattr(device, "_in_use", lambda: True)
    assert device_fault(torch.device("cpu")) == ""
    assert device_fault(None) == ""
    assert "illegal memory access" in device_fault(torch.device("cuda"))


def test_a_cuda_device_is_waited_for_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[object] = []
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)
    wait_for(torch.device("cuda"))
    assert waited == [], "to wait would begin to use CUDA"
    monkeypatch.setattr(device, "_in_use", lambda: True)
    for each in (torch.device("cuda", 1), torch.device("cpu"), None, "cuda"):
        wait_for(each)
    assert waited == [torch.device("cuda", 1)]


def test_a_gpu_has_a_uuid_and_a_cpu_none(monkeypatch: pytest.MonkeyPatch) -> None:
    uuids = {torch.device("cuda", 0): "aaaa", torch.device("cuda", 1): "bbbb"}
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda at: SimpleNamespace(uuid=uuids[at]))
    assert [gpu_uuid(torch.device(name)) for name in ("cuda:1", "cuda:0", "cpu")] == ["bbbb", "aaaa", ""]
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(name="of another maker"))
    assert gpu_uuid(torch.device("cuda:0")) == ""
