"""From data to a finished package: train, judge, and write what ships."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from safetensors.torch import save

from pelton.models.manifest import Manifest
from pelton.schemas.codec import EventCodec
from pelton.schemas.input_schema import InputSchema

from .card import figures, put_into
from .features import encode
from .flights import WEATHER, Event, flights
from .network import DelayNet
from .training import Decode, Examples, calibrate, fit, predict, read, unseen_month_logits

LEARNED, JUDGED = range(1, 9), range(9, 13)
_GOLDEN_STEP = 5000


def main() -> None:
    """Train on January to August, judge on September to December, write weights, golden cases and card."""
    # One thread adds up in one order: the same weights whatever the number of cores.
    torch.set_num_threads(1)
    folder = Path(__file__).parent
    manifest = Manifest.read(folder)
    schema = InputSchema.from_json_schema(manifest.input, manifest.name)
    decode = EventCodec(schema, manifest.id_field, manifest.time_field).decode
    learned = read(flights(LEARNED), decode)
    unseen = unseen_month_logits(learned)
    net = fit(learned)
    slope, shift = calibrate(net, unseen, learned.labels)
    (folder / "weights.safetensors").write_bytes(save(net.state_dict()))
    write_golden(folder / "golden.jsonl", net, decode)
    judged = read(flights(JUDGED), decode)
    text = figures(
        labels=judged.labels.numpy(),
        scores=predict(net, judged),
        months=judged.months.numpy(),
        table=table_scores(learned, judged),
        learned_labels=learned.labels.numpy(),
        learned_scores=torch.sigmoid(slope * unseen + shift).numpy(),
        n_weights=sum(weight.numel() for weight in net.parameters()),
    )
    put_into(folder / "CARD.md", text)
    sys.stdout.write(text)


def table_scores(learned: Examples, judged: Examples) -> np.ndarray[Any, Any]:
    """Score by the simplest rival: how often flights of that carrier at that hour were late."""
    cell_of_learned, cell_of_judged = _cells(learned), _cells(judged)
    n_late = np.bincount(cell_of_learned, learned.labels.numpy(), 10_000)
    n = np.bincount(cell_of_learned, minlength=10_000)
    base_rate, weight = float(learned.labels.mean()), 20.0
    rates: np.ndarray[Any, Any] = ((n_late + weight * base_rate) / (n + weight))[cell_of_judged]
    return rates


def _cells(examples: Examples) -> np.ndarray[Any, np.dtype[np.int64]]:
    categories = examples.inputs[0].numpy()
    cells: np.ndarray[Any, np.dtype[np.int64]] = categories[:, 0] * 500 + categories[:, 4]
    return cells


def write_golden(path: Path, net: DelayNet, decode: Decode) -> None:
    """Write events from the judged months and their scores, then one flight in every kind of trouble."""
    events = [event for event, _ in flights(JUDGED)][::_GOLDEN_STEP]
    events += troubled(events[len(events) // 2])
    with torch.inference_mode():
        scores = net(encode(decode([msgspec.json.encode(event) for event in events]))).tolist()
    cases = ({"event": event, "score": round(score, 8)} for event, score in zip(events, scores, strict=True))
    path.write_bytes(msgspec.json.Encoder().encode_lines(cases))


def troubled(event: Event) -> Sequence[Event]:
    """Return the event as it comes when something about it is missing, unknown or broken."""
    return [
        {**event, "carrier": "ZZ"},
        {**event, "origin": "XXX"},
        {**event, "dest": "XXX"},
        {name: value for name, value in event.items() if name not in WEATHER},
        {**event, "scheduled_arrival": None, "distance": None},
        {**event, "wind_speed": 1048.4, "temp": -1e300, "dewp": 1e300},
    ]
