"""Score events with a model package alone: no Kafka, no batcher, just the package's own verbs.

Run as `python -m pelton.demo_offline MODEL EVENTS OUT`: EVENTS has one JSON event a line, OUT gets one JSON
object, event id to score. A process of its own, so that what it says owes nothing to the worker's.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

BATCH = 1024


def score(model: str, events: Path, id_field: str = "flight_id") -> dict[str, float]:
    """Return the score of each event in the file `events` by its id; raises PackageError."""
    import torch  # noqa: PLC0415 - the demo imports this file, and has no use for torch

    from pelton.models.package import load_package  # noqa: PLC0415

    torch.set_num_threads(1)
    package = load_package(model)
    loaded, decoder = package.load("auto"), package.input_schema.decoder
    scores: dict[str, float] = {}
    for lines in _batches(events.read_bytes().splitlines()):
        batch = [decoder.decode(line) for line in lines]
        out: Any = loaded.finish(loaded.forward(loaded.prepare(batch)))
        ids = [getattr(event, package.input_schema.attribute(id_field)) for event in batch]
        scores.update(zip(ids, map(float, out), strict=True))
    return scores


def _batches(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(lines), BATCH):
        yield lines[start : start + BATCH]


def main() -> None:
    """Read the command line and write the scores."""
    model, events, out = sys.argv[1:]
    Path(out).write_bytes(msgspec.json.encode(score(model, Path(events))))


if __name__ == "__main__":
    main()
