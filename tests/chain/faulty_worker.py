"""The real worker with a fault at a step of its road: python faulty_worker.py FAULT_FILE [what a worker is given].

The fault comes true once, in whichever worker first gets to the step while the file is there. The file says which step
and what kind: `forward kill`. A worker that has not read a record yet has no faults.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

KINDS = ("raise", "delay", "kill")
STEPS = ("poll", "decode", "prepare", "forward", "finish", "produce", "commit")
"""The steps in both ways of delivery; a transaction has these besides:"""
TRANSACTION_STEPS = ("flush", "send-offsets", "abort")
DELAY_S = 4.0
"""Longer than a session."""
KILLED = 9


class Fault:
    """What goes wrong next, as long as its file is there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._records_came = False

    def at(self, step: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call of a step with the fault before it."""

        def with_fault(*arguments: Any, **named: Any) -> Any:
            self._strike(step)
            result = call(*arguments, **named)
            self._records_came = self._records_came or (step == "poll" and bool(result))
            return result

        return with_fault

    def _strike(self, step: str) -> None:
        if not (self._records_came and self._file.exists()):
            return
        wanted, kind = self._file.read_text().split()
        if wanted == "abort" and step == "send-offsets":
            refuse(KafkaError.REBALANCE_IN_PROGRESS, aborts=True)  # or nothing would ever be aborted
        if wanted == step and self._claim():
            strike(step, kind)

    def _claim(self) -> bool:
        try:
            self._file.rename(self._file.with_suffix(".struck"))
        except FileNotFoundError:  # another worker was faster
            return False
        return True


def strike(step: str, kind: str) -> None:
    """Let the fault happen."""
    if kind == "kill":
        os._exit(KILLED)
    if kind == "delay":
        time.sleep(DELAY_S)
    elif step in {"send-offsets", "commit", "abort"}:
        refuse(KafkaError._TIMED_OUT, aborts=False)
    else:
        raise RuntimeError(f"a fault at {step}")


def refuse(code: int, *, aborts: bool) -> NoReturn:
    raise KafkaException(KafkaError(code, "a fault", False, not aborts, aborts))  # noqa: FBT003 - it takes no names


def plant(fault: Fault) -> None:
    """Put the faults where the worker will find them; before it imports what it runs."""

    class Consumer(confluent_kafka.Consumer):  # type: ignore[misc]
        consume = fault.at("poll", confluent_kafka.Consumer.consume)
        commit = fault.at("commit", confluent_kafka.Consumer.commit)

    class Producer(confluent_kafka.Producer):  # type: ignore[misc]
        produce = fault.at("produce", confluent_kafka.Producer.produce)
        produce_batch = fault.at("produce", confluent_kafka.Producer.produce_batch)
        flush = fault.at("flush", confluent_kafka.Producer.flush)
        send_offsets_to_transaction = fault.at("send-offsets", confluent_kafka.Producer.send_offsets_to_transaction)
        commit_transaction = fault.at("commit", confluent_kafka.Producer.commit_transaction)
        abort_transaction = fault.at("abort", confluent_kafka.Producer.abort_transaction)

    confluent_kafka.Consumer, confluent_kafka.Producer = Consumer, Producer


def plant_in_rooms(fault: Fault) -> None:
    """Put faults into the decoder and whichever model is loaded."""
    from pelton.models.package import ModelPackage
    from pelton.schemas.codec import EventCodec

    EventCodec.decode = fault.at("decode", EventCodec.decode)  # type: ignore[method-assign]
    load = ModelPackage.load

    def load_with_faults(package: ModelPackage, device: str) -> Any:
        model = load(package, device)
        for step in ("prepare", "forward", "finish"):
            setattr(model, step, fault.at(step, getattr(model, step)))
        return model

    ModelPackage.load = load_with_faults  # type: ignore[method-assign]


if __name__ == "__main__":
    # The worker limits its threads before torch is imported: none of it may be imported before that.
    from pelton import worker

    planted = Fault(Path(sys.argv.pop(1)))
    plant(planted)
    limit_threads = worker._limit_threads

    def limit_and_plant(n: int) -> None:
        limit_threads(n)
        plant_in_rooms(planted)

    worker._limit_threads = limit_and_plant
    code = worker.main()
    sys.stderr.flush()
    os._exit(code)
