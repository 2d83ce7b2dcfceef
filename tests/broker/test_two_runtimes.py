"""Several runtimes in one process, started and stopped more than once."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pelton.schemas.settings import Settings

from .conftest import settings_for
from .outside import Outside, Record, event
from .served import eventually

PROGRAM = Path(__file__).with_name("two_runtimes.py")


@pytest.mark.parametrize("starts", [2, pytest.param(10, marks=pytest.mark.chaos)])
def test_b48_two_runtimes_in_one_process_count_each_for_itself_and_start_again(
    brokers: str, outside: Outside, topic_factory: Callable[..., str], tmp_path: Path, starts: int
) -> None:
    all_settings = [_settings(brokers, topic_factory, model) for model in ("obedient", "namesake")]
    files = [tmp_path / f"{number}.json" for number in range(2)]
    for file, settings in zip(files, all_settings, strict=True):
        file.write_text(settings.to_json())
    log = tmp_path / "log"
    command = [sys.executable, str(PROGRAM), *map(str, files)]
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, bufsize=1
        ) as program,
    ):

        def ask(what: str) -> list[float]:
            assert program.stdin
            assert program.stdout
            program.stdin.write(f"{what}\n")
            return list(json.loads(program.stdout.readline() or "[]"))

        for counts in itertools.islice(itertools.cycle([[30, 50], [20, 10]]), starts):
            ask("start")
            sent = [
                outside.send(settings.stream.topics[0], *(Record(event(x)) for x in range(count)))
                for settings, count in zip(all_settings, counts, strict=True)
            ]
            eventually(lambda counts=counts: ask("scored") == counts, otherwise=log.read_text)
            assert ask("stop") == [0, 0], log.read_text()
            for settings, places in zip(all_settings, sent, strict=True):
                scores = outside.scores(settings.stream.sink)
                assert [scores.get(at) for at in places] == [[2.0 * x] for x in range(len(places))]
        assert program.stdin
        program.stdin.close()
        assert program.wait(10) == 0, log.read_text()
    assert "Traceback" not in log.read_text()


def _settings(brokers: str, topic_factory: Callable[..., str], model: str) -> Settings:
    source, sink, dead = topic_factory(prefix="events"), topic_factory(prefix="scores"), topic_factory(prefix="dead")
    stream = {"topics": [source], "group": f"group-of-{source}", "sink": sink, "dead_letter": dead}
    return Settings(**settings_for(brokers, model, stream))
