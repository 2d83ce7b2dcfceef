"""The storm: workers are killed, frozen, added and removed, the broker restarts, and every promise is kept."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pelton.local_kafka import LocalKafka
from tests.broker.outside import Outside
from tests.broker.served import eventually
from tests.chain.broker_fault import skipped_an_end, spoilt_by, unspoilt
from tests.chain.storm import Storm
from tests.chain.storm_counts import counts
from tests.chain.storm_crew import Crew
from tests.chain.storm_flow import Flow
from tests.chain.storm_judge import Verdict
from tests.chain.storm_plan import Blow, blows
from tests.chain.storm_scene import BROKER_CONFIG, FINISHED_S, FORMS, Scene
from tests.chain.stream import Fill

WORKERS = 3
SHORT_S = 60.0
SHORT_RATE = 1_000
LONG_RATE = 600
KILLS = int(os.environ.get("PELTON_TEST_STORM_KILLS", "100"))
EVENTS = 5_000 * KILLS

Tell = Callable[[str, object], None]
OwnKafka = Callable[..., LocalKafka]


def rage(
    kafka: LocalKafka, scene: Scene, fill: Fill, folder: Path, seed: int, enough: Callable[[Storm], bool], tell: Tell
) -> Verdict:
    """Let a storm rage until it is enough, have the workers finish, and judge."""
    rng = random.Random(seed)
    with Crew(scene.settings, folder) as crew:
        for _ in range(WORKERS):
            crew.add()
        flow = Flow(kafka.bootstrap, scene.sink)
        with Storm(crew, fill, flow, rng, kafka) as storm:
            for blow in blows(rng, WORKERS):
                storm.strike(blow)
                if len(storm.struck) == len(Blow) and enough(storm):
                    break
        eventually(lambda: scene.finished(fill.sent), FINISHED_S, crew.logs)
        crew.dismiss()
        tell("storm", {"seed": seed, "events": fill.sent, **storm.struck, **counts(crew.all)})
        tell("seconds", storm.took_s)
    return scene.verdict(fill.sent)


@pytest.mark.timeout(300, func_only=True)
def test_a_minute_of_storm_leaves_one_outcome_of_each_event(
    own_kafka: OwnKafka, tmp_path: Path, record_property: Tell
) -> None:
    def run(folder: Path) -> None:
        kafka = own_kafka(config=BROKER_CONFIG)
        with Outside(kafka.bootstrap) as outside, spoilt_by(lambda: skipped_an_end(kafka)):
            scene = Scene(outside, "exactly-once")
            fill = Fill(kafka.bootstrap, scene.source, SHORT_RATE)
            seed = random.SystemRandom().randrange(10_000)
            verdict = rage(kafka, scene, fill, folder, seed, lambda storm: storm.lasted_s() > SHORT_S, record_property)
            assert verdict.exactly_once, verdict

    unspoilt(run, tmp_path)


@pytest.mark.chaos
@pytest.mark.timeout(3 * 3600, func_only=True)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_long_storm_keeps_the_promise(
    own_kafka: OwnKafka, tmp_path: Path, record_property: Tell, delivery: str, form: str
) -> None:
    def run(folder: Path) -> None:
        kafka = own_kafka(config=BROKER_CONFIG)
        with Outside(kafka.bootstrap) as outside, spoilt_by(lambda: skipped_an_end(kafka)):
            scene = Scene(outside, delivery, form)
            fill = Fill(kafka.bootstrap, scene.source, LONG_RATE)

            def enough(storm: Storm) -> bool:
                return storm.struck["kill"] >= KILLS and fill.sent >= EVENTS

            seed = random.SystemRandom().randrange(10_000)
            verdict = rage(kafka, scene, fill, folder, seed, enough, record_property)
            record_property("verdict", str(verdict))
            assert verdict.exactly_once if delivery == "exactly-once" else verdict.at_least_once, verdict

    unspoilt(run, tmp_path)
