"""The metrics of all workers as one text: each sample gets a label `worker`."""

import re
from collections.abc import Iterator, Mapping

import structlog

log = structlog.get_logger(__name__)

_NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
_PAIR = r'\w+="(?:[^"\\\n]|\\.)*"'
_SAMPLE = rf"{_NAME}(?:\{{{_PAIR}(?:,{_PAIR})*\}})? [-+.0-9a-zA-Z]+\n"
_FAMILY = re.compile(rf"(# HELP ({_NAME}) .*\n# TYPE .*\n)((?:{_SAMPLE})*)")
_TAKEN = re.compile(rf'^({_NAME}\{{(?:{_PAIR},)*)worker="', re.MULTILINE)
_LABELLED = re.compile(rf"^({_NAME}\{{.*)\}}(?= \S+$)", re.MULTILINE)
_BARE = re.compile(rf"^({_NAME})(?= )", re.MULTILINE)


def merge(texts: Mapping[str, str]) -> str:
    """Return what workers sent, by their names, as one text in which a family is declared once.

    A worker without text has no series, so those of a dead one vanish; one whose text cannot be read is left out. A
    label `worker` that a model's own metric has is kept as `exported_worker`. Samples are not parsed one by one: that
    took 4 ms for every 100 of them, in which the sidecar answers no probe.
    """
    heads: dict[str, str] = {}
    samples: dict[str, list[str]] = {}
    for worker, text in texts.items():
        try:
            families = list(_families(text))
        except ValueError as error:
            log.warning("metrics_unreadable", worker=worker, reason=str(error))
            continue
        for name, head, body in families:
            heads.setdefault(name, head)
            samples.setdefault(name, []).append(_of(worker, body))
    return "".join(head + "".join(samples[name]) for name, head in heads.items())


def _families(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each family, its declaration and its samples; raises ValueError at anything else."""
    at = 0
    while at < len(text):
        found = _FAMILY.match(text, at)
        if found is None:
            raise ValueError(text[at : at + 100])
        yield found[2], found[1], found[3]
        at = found.end()


def _of(worker: str, samples: str) -> str:
    samples = _TAKEN.sub(r'\1exported_worker="', samples)
    samples = _LABELLED.sub(rf'\1,worker="{worker}"}}', samples)
    return _BARE.sub(rf'\1{{worker="{worker}"}}', samples)
