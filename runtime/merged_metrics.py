"""The metrics of all workers as one: each sample gets a label `worker`."""

from collections.abc import Callable, Iterator, Mapping

import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

log = structlog.get_logger(__name__)


class MergedMetrics(Collector):
    """Reads, at each scrape, the text every living worker last sent.

    `texts` returns them by worker name. A worker without text has no series, so those of a dead
    one vanish. A `worker` label that a model's own metric has is kept as `exported_worker`.
    """

    def __init__(self, texts: Callable[[], Mapping[str, str]]) -> None:
        self._texts = texts

    def describe(self) -> list[Metric]:
        """Return nothing: what the workers send is not known beforehand."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield one family a name, with the samples of all workers."""
        merged: dict[str, Metric] = {}
        for worker, text in self._texts().items():
            try:
                families = list(text_string_to_metric_families(text))
            except ValueError as error:
                log.warning("metrics_unreadable", worker=worker, reason=str(error))
                continue
            for family in families:
                into = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                into.samples += [s._replace(labels=_labelled(s.labels, worker)) for s in family.samples]
        yield from merged.values()


def _labelled(labels: Mapping[str, str], worker: str) -> dict[str, str]:
    renamed = {("exported_worker" if name == "worker" else name): value for name, value in labels.items()}
    return {**renamed, "worker": worker}
