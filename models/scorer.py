"""The scorer: a model made safe to feed. Warmed, checked, bisected where it raises, and never out of step."""

from collections.abc import Sequence
from typing import Any

import structlog

from pelton.errors import DeviceLost
from pelton.metrics import Metrics
from pelton.models.bisect import Bisection, LoneMisses
from pelton.models.ceiling import Ceiling
from pelton.models.failure import FailureKind
from pelton.models.forward_pass import ForwardPass
from pelton.models.manifest import BatchShapes
from pelton.models.package import ModelPackage
from pelton.models.protocol import Model
from pelton.models.shapes import Shapes
from pelton.models.warm_up import check_places, warm_up

log = structlog.get_logger(__name__)


class Scorer:
    """Scores batches of events with one model; belongs to one thread.

    `fixed_shape` pads every batch to `max_size`, so that a score does not depend on the batch it was made in.
    """

    def __init__(self, model: Model, package: ModelPackage, max_size: int, fixed_shape: bool, metrics: Metrics) -> None:
        manifest = package.manifest
        self._model, self._package, self._fixed_shape = model, package, fixed_shape
        self._shapes = Shapes(BatchShapes.FIXED if fixed_shape else manifest.batching.shapes, max_size)
        self._pass = ForwardPass(model, self._shapes, metrics, finite_inputs=manifest.finite_inputs)
        self._ceiling = Ceiling(max_size)
        self._misses = LoneMisses()
        self._lost = ""

    def start(self) -> None:
        """Warm the model up at every batch shape in use, and check its golden cases in each.

        Raises PackageError if a score is not the golden one, the model raises, or there is nothing to warm up
        with; SettingsError if `fixed_shape` cannot be kept; OutOfMemory or DeviceLost if the device gives up.
        """
        self._pass.measures = False
        warm_up(self._model, self._package, self._shapes.in_use, self.score)
        if self._fixed_shape:
            check_places(self._package, self._shapes.max_size, self.score)
        self._pass.measures = True

    def score(self, events: Sequence[Any]) -> list[Any]:
        """Return for every event, in order, a plain score or the Rejection that takes its place.

        A batch that raises is bisected until the record at fault is alone. Raises ModelError if the model
        returns another number of scores than it got events; OutOfMemory if three records in a row find no
        room alone; DeviceLost if the device context is dead, and from then on at every call.
        """
        if self._lost:
            raise DeviceLost(self._lost)
        if not events:
            return []
        limit = self._ceiling.limit
        bisection = Bisection(self._pass.run, self._shapes, self._ceiling, self._misses)
        try:
            scores = bisection.score(events)
        except DeviceLost as error:
            self._lost = str(error)
            raise
        finally:
            self._tell(bisection, limit)
        return scores

    @property
    def ceiling(self) -> int:
        """The largest batch scored in one call: `max_size`, or less since memory ran out."""
        return self._ceiling.limit

    def _tell(self, bisection: Bisection, limit_before: int) -> None:
        if self._ceiling.limit != limit_before:
            log.warning("batch_ceiling_moved", before=limit_before, now=self._ceiling.limit)
        failure = bisection.first_failure
        if failure is None or failure.kind is FailureKind.NOT_FINITE:
            return
        log.warning(
            "model_raised",
            model=self._package.name,
            version=self._package.version_address,
            stage=failure.stage,
            error=failure.exception,
            reason=failure.reason,
            where=failure.where,
            records_at_fault=bisection.at_fault,
        )
