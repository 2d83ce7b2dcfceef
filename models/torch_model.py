"""The base class of models that are a torch module."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from pelton.errors import PackageError
from pelton.models.device import resolve_device
from pelton.models.manifest import Manifest
from pelton.models.protocol import Model


class TorchModel(Model, ABC):
    """A model made of one `nn.Module`: write `build` and `prepare`, and `finish` where scores need more work.

    The module gets its weights from the safetensors file that the manifest names, every tensor of it and no
    other, goes to the device in evaluation mode, and runs without gradients.

        class Churn(TorchModel):
            def build(self) -> nn.Module:
                return nn.Linear(2, 1)

            def prepare(self, events):
                return torch.tensor([(event.age, event.calls) for event in events], dtype=torch.float32)
    """

    def __init__(self, package_dir: Path, device: str = "auto") -> None:
        self.package_dir = Path(package_dir)
        self.device = resolve_device(device)
        self.manifest = Manifest.read(self.package_dir)
        module = self.build()
        if self.manifest.weights:
            _load_weights(module, self.package_dir / self.manifest.weights)
        self.module = module.to(self.device).eval().requires_grad_(requires_grad=False)

    @abstractmethod
    def build(self) -> nn.Module:
        """Return the module, on the CPU and with weights of any value."""

    @abstractmethod
    def prepare(self, events: Sequence[Any]) -> Any:
        """Turn events into a tensor, or a tuple or dict of tensors, on the CPU."""

    def forward(self, inputs: Any) -> Any:
        """Move the inputs to the device and call the module on them."""
        with torch.inference_mode():
            return self.module(to_device(inputs, self.device))

    def finish(self, outputs: Any) -> Any:
        """Return the outputs as scores; a last dimension of one is dropped."""
        if isinstance(outputs, torch.Tensor) and outputs.ndim == 2 and outputs.shape[1] == 1:
            return outputs[:, 0]
        return outputs


def to_device(inputs: Any, device: torch.device) -> Any:
    """Return inputs with every tensor in them, inside tuples, lists and dicts too, on the device."""
    if isinstance(inputs, torch.Tensor):
        return inputs.to(device)
    if isinstance(inputs, dict):
        return {name: to_device(value, device) for name, value in inputs.items()}
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return type(inputs)(*(to_device(value, device) for value in inputs))
    if isinstance(inputs, list | tuple):
        return type(inputs)(to_device(value, device) for value in inputs)
    return inputs


def _load_weights(module: nn.Module, path: Path) -> None:
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise PackageError(f"the weights in {path} cannot be read: {error}") from error
    try:
        module.load_state_dict(weights, strict=True)
    except RuntimeError as error:
        raise PackageError(f"the weights in {path} do not fit the module: {error}") from error
