"""The storm itself is tested: workers with a common mistake do not come through it."""

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.broker.outside import Outside
from tests.chain.storm import Storm
from tests.chain.storm_crew import Crew
from tests.chain.storm_flow import Flow
from tests.chain.storm_judge import Verdict
from tests.chain.storm_plan import Blow
from tests.chain.storm_scene import Scene
from tests.chain.stream import Fill, expected_scores

RATE = 400
HERE = Path(__file__).parent


def verdict_on(mistake: str, delivery: str, plan: Sequence[Blow], outside: Outside, folder: Path) -> Verdict:
    """Let two workers with a mistake take some blows; judge what was sent before the last scores seen."""
    scene = Scene(outside, delivery)
    answers = folder / "answers.json"
    answers.write_text(json.dumps(expected_scores().tolist()))
    worker = [str(HERE / "wrong_worker.py"), mistake, str(answers)]
    command = [sys.executable, str(HERE / "serve_as.py"), *worker, "--config"]
    with Crew(scene.settings, folder, command) as crew:
        for _ in range(2):
            crew.add()
        fill = Fill(outside.brokers, scene.source, RATE)
        with Storm(crew, fill, Flow(outside.brokers, scene.sink), random.Random(1)) as storm:
            for blow in plan:
                storm.strike(blow)
            n_sent = fill.sent
            storm.await_flow()
    return scene.verdict(n_sent)


def test_a_worker_that_lets_the_client_commit_loses_events(outside: Outside, tmp_path: Path) -> None:
    verdict = verdict_on("auto-commit", "at-least-once", [Blow.KILL], outside, tmp_path)
    assert verdict.missing, verdict
    assert not verdict.at_least_once


def test_a_worker_that_does_not_rewind_after_an_abort_loses_events(outside: Outside, tmp_path: Path) -> None:
    verdict = verdict_on("no-rewind", "exactly-once", [Blow.KILL], outside, tmp_path)
    assert verdict.missing, verdict
    assert not verdict.exactly_once
