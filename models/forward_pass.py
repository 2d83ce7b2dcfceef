"""One call of a model on one batch: prepare, forward, finish, and the checks at the seams."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from pelton.errors import ModelError
from pelton.metrics import Metrics
from pelton.models.device import wait_for
from pelton.models.failure import Failure, FailureKind
from pelton.models.finite import non_finite_inputs, plain_scores
from pelton.models.protocol import Model
from pelton.models.shapes import Shapes
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection, Stage


class ForwardPass:
    """Runs a model's verbs once; whatever the model raises comes back as a Failure, free of its tensors."""

    def __init__(self, model: Model, shapes: Shapes, metrics: Metrics, *, finite_inputs: bool) -> None:
        self._model, self._shapes, self._metrics = model, shapes, metrics
        self._finite_inputs = finite_inputs
        self.measures = True
        """Whether calls are timed; what a warm-up takes says nothing of the work to come."""

    @property
    def _device(self) -> object:
        return getattr(self._model, "device", None)

    def run(self, events: Sequence[Any], attempt: int) -> list[Any] | Failure:
        """Score events in one call and return a score or a Rejection for each, or why there are none.

        `attempt` counts the calls these events have been in, this one included. Raises ModelError if the
        model gives another number of scores than it was given events.
        """
        n, rows = len(events), self._shapes.padded(len(events))
        padded = events if rows == n else [*events, *[events[-1]] * (rows - n)]
        stage: Stage = "prepare"
        try:
            # A cast that overflows needs no warning: the infinity it leaves is looked for below.
            with torch.inference_mode(), np.errstate(over="ignore"):
                started_s = perf_counter()
                inputs = self._model.prepare(padded)
                bad = non_finite_inputs(inputs, rows) if self._finite_inputs else {}
                prepared_s = perf_counter()
                if bad:
                    return _not_finite(bad, n)
                stage = "forward"
                outputs = self._model.forward(inputs)
                wait_for(self._device)  # it computes on by itself, and `finish` would be told what `forward` took
                forwarded_s = perf_counter()
                stage = "finish"
                scores, faults = plain_scores(self._model.finish(outputs))
        except ModelError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a model may raise anything, and is asked again with less
            return Failure.of(error, stage, self._device)
        if self.measures:
            self._metrics.prepare.observe(prepared_s - started_s)
            self._metrics.device.observe(forwarded_s - prepared_s)
            self._metrics.finish.observe(perf_counter() - forwarded_s)
        return _paired(scores, faults, n, rows, attempt)


def _not_finite(bad: dict[int, str], n: int) -> Failure:
    rows = {row: f"{name} is NaN, infinite or beyond the model's dtype" for row, name in bad.items() if row < n}
    # A model that spoils only padding gives no row to blame; taking the batch apart settles it all the same.
    kind = FailureKind.NOT_FINITE if rows else FailureKind.RAISED
    return Failure(kind, "prepare", "NonFiniteInput", "a padded row is not finite", rows=rows)


def _paired(scores: list[Any], faults: dict[int, str], n: int, rows: int, attempt: int) -> list[Any] | Failure:
    if len(scores) != rows:
        raise ModelError(f"the model returned {len(scores)} scores for a batch of {rows} events")
    if not faults:
        return scores if rows == n else scores[:n]
    if n > 1 and all(row in faults for row in range(n)):
        # One record may have spoiled the others (a mean over the batch): ask again with less.
        return Failure(FailureKind.RAISED, "finish", "BadScore", faults[0])
    for row, reason in faults.items():
        scores[row] = Rejection(Code.MODEL_ERROR, reason, "finish", "BadScore", attempt)
    return scores[:n]
