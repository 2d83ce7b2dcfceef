"""Which device a model runs on, and whether it still lives."""

import torch

from pelton.errors import SettingsError


def resolve_device(name: str, worker: int = 0) -> torch.device:
    """Return the device that "auto", "cpu", "cuda" or "cuda:N" means; auto is CUDA where there is one.

    Where there are several, "auto" and "cuda" give each worker the next one, by its number.

    Raises SettingsError if the name is none of these or this machine has no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingsError(f"device: {name!r} is not auto, cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise SettingsError(f"device: {name!r} is not supported; use auto, cpu, cuda or cuda:N")
    if device.type == "cuda":
        _require_cuda(name, device.index or 0)
    if name == "cuda" and (count := torch.cuda.device_count()) > 1:
        return torch.device("cuda", worker % count)
    return device


def _require_cuda(name: str, index: int) -> None:
    if not torch.cuda.is_available():
        raise SettingsError(f"device: {name!r} is asked for, but torch finds no CUDA device here")
    if index >= torch.cuda.device_count():
        raise SettingsError(
            f"device: {name!r} is asked for, but there are only {torch.cuda.device_count()} CUDA devices"
        )


def wait_for(device: object) -> None:
    """Wait until a CUDA device is done with what it was given; raises what the device says if it failed."""
    if isinstance(device, torch.device) and device.type == "cuda" and _in_use():
        torch.cuda.synchronize(device)


def gpu_uuid(device: torch.device) -> str:
    """Return the UUID of a CUDA device, "" for any other: a number says nothing to other processes."""
    # Not every build of torch knows it.
    return str(getattr(torch.cuda.get_device_properties(device), "uuid", "")) if device.type == "cuda" else ""


def device_fault(device: object) -> str:
    """Return what a CUDA device says when it is waited for: "" if it lives, else its last words.

    A dead context fails every later call, whatever the message of the first failure was.
    """
    try:
        wait_for(device)
    except RuntimeError as error:
        return str(error)
    return ""


def release_memory() -> None:
    """Give cached device memory back, so that a smaller batch finds room."""
    if _in_use():
        torch.cuda.empty_cache()


def _in_use() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]
