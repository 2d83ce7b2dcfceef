"""What all roads of a worker share."""

from dataclasses import dataclass, field

from pelton.metrics import Metrics
from pelton.models.package import ModelPackage
from pelton.models.protocol import Model
from pelton.models.scorer import Scorer
from pelton.progress import Progress
from pelton.tracing import Tracing


@dataclass(frozen=True, slots=True)
class Engine:
    """A warm model, and where it is noted what is done with it."""

    package: ModelPackage
    model: Model
    scorer: Scorer
    metrics: Metrics
    progress: Progress
    tracing: Tracing = field(default_factory=Tracing)
