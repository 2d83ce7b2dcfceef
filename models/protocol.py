"""What a model is: five verbs, named after the way of the data."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol


class Model(Protocol):
    """A model as the scorer sees it: `prepare` on the CPU, `forward` on the device, `finish` to scores.

    A model package names a class whose constructor takes the package's folder and a device name ("auto",
    "cpu", "cuda", "cuda:1"). Inherit from `TorchModel`, or from this class, or from nothing at all. All verbs
    run in one thread. An exception means "not with this batch": the batch is bisected until the record at
    fault is alone.
    """

    @abstractmethod
    def prepare(self, events: Sequence[Any]) -> Any:
        """Turn events (objects with the fields of the input schema) into inputs, in the same order.

        Tensors and arrays, alone or inside a tuple or a dict, whose first dimension is the number of events
        are checked: a row with NaN or infinity costs that record its score, not its neighbours theirs.
        """

    @abstractmethod
    def forward(self, inputs: Any) -> Any:
        """Run the network over prepared inputs; called without gradients."""

    @abstractmethod
    def finish(self, outputs: Any) -> Any:
        """Turn outputs into scores, one for each event and in the same order.

        Scores are a tensor or array whose first dimension is the number of events, or a list of numbers,
        strings, lists or dicts. Any other number of scores than of events is an error for the whole batch.
        """

    def warmup(self, sizes: Sequence[int]) -> None:
        """Do what makes later calls fast, given the batch sizes in use; called once, before the first record.

        The golden cases are scored at each of these sizes in any case; a model without golden cases has to
        call its own verbs here.
        """

    def size(self, event: Any) -> int:  # noqa: ARG002 - every event costs the same here
        """Return what the event costs (tokens, bytes) when batches are closed by cost."""
        return 1
