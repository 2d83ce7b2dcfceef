"""What all roads of a worker share."""

from dataclasses import dataclass, field

import torch

from pelton.metrics import Metrics
from pelton.models.device import resolve_device
from pelton.models.package import ModelPackage, load_package
from pelton.models.protocol import Model
from pelton.models.scorer import Scorer
from pelton.progress import Progress
from pelton.schemas.settings import Settings
from pelton.tracing import Tracing

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Engine:
    """A model, and where it is noted what is done with it."""

    package: ModelPackage
    model: Model
    scorer: Scorer
    metrics: Metrics
    progress: Progress
    tracing: Tracing = field(default_factory=Tracing)
    device: torch.device = CPU


def load_engine(
    settings: Settings, index: int, metrics: Metrics, progress: Progress, tracing: Tracing | None = None
) -> Engine:
    """Return the model of the worker with this number, loaded and cold: `scorer.start` warms it.

    Raises PackageError, or SettingsError for a device that is not there.
    """
    torch.set_num_threads(settings.threads)
    package, batch = load_package(settings.model), settings.batch
    device = resolve_device(settings.device, index)
    model = package.load(str(device))
    scorer = Scorer(model, package, batch.max_size, batch.fixed_shape, metrics)
    return Engine(package, model, scorer, metrics, progress, tracing or Tracing(), device)
