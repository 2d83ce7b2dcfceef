"""The stream of the chain tests: events at a steady rate, each in a known place and with a known score."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Message, Producer

from pelton.models.package import load_package

PARTITIONS = 4
N_VECTORS, N_KEYS = 997, 500
BROKEN_EVERY = 1_000
MLP = Path(__file__).parents[2] / "benchmarks" / "mlp" / "1"

VECTORS = np.random.default_rng(3).normal(size=(N_VECTORS, 32)).round(4)
BODIES = [json.dumps(vector.tolist()) for vector in VECTORS]


def value(i: int) -> str:
    """Return event `i`; one of a thousand is broken."""
    return f'{{"id": "e{i}", "x": {BODIES[i % N_VECTORS]}}}' if i % BROKEN_EVERY else f'{{"id": "e{i}", "x": '


def place(i: int) -> tuple[int, int]:
    """Return partition and offset of event `i` in a topic that holds nothing else: the events take turns."""
    return i % PARTITIONS, i // PARTITIONS


def expected_scores() -> np.ndarray:
    """Return the network's answer to every vector, worked out without torch, in double precision."""
    weights = load_package(str(MLP)).load("cpu").module.state_dict()
    layers = [(weights[f"{n}.weight"].double().numpy(), weights[f"{n}.bias"].double().numpy()) for n in (0, 2, 4)]
    x = VECTORS
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight.T + bias, 0)
    weight, bias = layers[-1]
    return (x @ weight.T + bias)[:, 0]


class Fill(threading.Thread):
    """Sends events at a steady rate until there are `at_least` so many and enough has happened meanwhile.

    `arrived` of them are at the broker: after a restart of it this client may stand still while the workers do not.
    """

    def __init__(self, brokers: str, topic: str, rate: int, at_least: int = 0) -> None:
        super().__init__(daemon=True)
        self.sent = self.arrived = 0
        self.enough = threading.Event()
        self.refused: list[Any] = []
        self._topic, self._rate, self._at_least = topic, rate, at_least
        self._producer = Producer(
            {"bootstrap.servers": brokers, "linger.ms": 5, "enable.idempotence": True, "log_level": 0}
        )

    def run(self) -> None:
        began_s = time.monotonic()
        while self.sent < self._at_least or not self.enough.is_set():
            i = self.sent
            while i % 60 == 0 and (early_s := began_s + i / self._rate - time.monotonic()) > 0:
                self._producer.poll(early_s)
            self._producer.produce(
                self._topic, value(i), f"key-{i % N_KEYS}", i % PARTITIONS, on_delivery=self._delivered
            )
            self.sent = i + 1
        self.refused += [None] * self._producer.flush(20)

    def _delivered(self, error: Any, _: Message) -> None:
        if error is None:
            self.arrived += 1
        else:
            self.refused.append(error)
