"""Faults inside the worker, drawn from all steps of its road: raised, late, or its end; the promise is kept."""

import random
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.broker.outside import Outside
from tests.broker.served import eventually
from tests.chain.faulty_worker import KINDS, STEPS, TRANSACTION_STEPS
from tests.chain.storm import Storm
from tests.chain.storm_counts import counts
from tests.chain.storm_crew import Crew
from tests.chain.storm_flow import Flow
from tests.chain.storm_judge import Verdict
from tests.chain.storm_scene import FINISHED_S, Scene
from tests.chain.stream import Fill

RATE = 400
FEW = 3
STRIKES_S = 30.0
HERE = Path(__file__).parent

Tell = Callable[[str, object], None]
Faults = Sequence[tuple[str, str]]


def verdict_after(faults: Faults, delivery: str, outside: Outside, folder: Path, tell: Tell) -> Verdict:
    """Let one fault after the other come true in one of two workers; judge all that became of the events."""
    file = folder / "fault"
    command = [sys.executable, str(HERE / "serve_as.py"), str(HERE / "faulty_worker.py"), str(file), "--config"]
    scene = Scene(outside, delivery)

    def fault(step: str, kind: str) -> None:
        draft = folder / "draft"
        draft.write_text(f"{step} {kind}")
        draft.rename(file)
        eventually(lambda: not file.exists(), STRIKES_S, lambda: f"{step} {kind}\n{crew.logs()}")

    # A record that is alone when the model raises is to blame for it: have batches of several.
    changes = {"workers": 2, "batch": {"max_wait_ms": 50}}
    with Crew(lambda number: scene.settings(number) | changes, folder, command) as crew:
        crew.add()
        fill = Fill(outside.brokers, scene.source, RATE)
        with Storm(crew, fill, Flow(outside.brokers, scene.sink), random.Random()) as storm:
            for step, kind in faults:
                storm.strike_with(f"{step} {kind}", lambda step=step, kind=kind: fault(step, kind))
        eventually(lambda: scene.finished(fill.sent), FINISHED_S, crew.logs)
        crew.dismiss()
        tell("faults", {"events": fill.sent, **storm.took_s, **counts(crew.all)})
    return scene.verdict(fill.sent)


def steps_of(delivery: str) -> tuple[str, ...]:
    return STEPS + TRANSACTION_STEPS * (delivery == "exactly-once")


@pytest.mark.timeout(120)
def test_a_few_faults_leave_one_outcome_of_each_event(outside: Outside, tmp_path: Path, record_property: Tell) -> None:
    seed = random.SystemRandom().randrange(10_000)
    record_property("seed", seed)
    drawn = random.Random(seed).sample(list(product(steps_of("exactly-once"), KINDS)), FEW)
    verdict = verdict_after(drawn, "exactly-once", outside, tmp_path, record_property)
    assert verdict.exactly_once, f"seed {seed}: {verdict}"


@pytest.mark.chaos
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_faults_of_every_kind_at_every_step_break_no_promise(
    outside: Outside, tmp_path: Path, record_property: Tell, delivery: str
) -> None:
    faults = list(product(steps_of(delivery), KINDS))
    random.shuffle(faults)
    verdict = verdict_after(faults, delivery, outside, tmp_path, record_property)
    assert verdict.exactly_once if delivery == "exactly-once" else verdict.at_least_once, f"{faults}: {verdict}"
