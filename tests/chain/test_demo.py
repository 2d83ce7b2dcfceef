"""The demo as a whole, on a Kafka of its own: it ends with 0 and leaves nothing, also when it is interrupted."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

DEMO = [sys.executable, "-m", "pelton.cli", "demo", "--plain", "--events"]


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of all processes that work in this folder, or name it."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        command = " ".join(process.info["cmdline"] or ())
        here = process.info["cwd"] == str(folder) or str(folder) in command
        if here and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(command)
    return found


@contextmanager
def running(folder: Path, events: int) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    with subprocess.Popen(
        [*DEMO, str(events)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        assert demo.stdout is not None
        yield demo, demo.stdout
        demo.kill()


@pytest.mark.timeout(240)
def test_a_small_demo_is_right_and_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, 2000) as (demo, output):
        said = output.read()
        assert demo.wait(30) == 0, said
    assert said.count("✓") == 7, said
    assert "✗" not in said
    assert list((tmp_path / ".pelton" / "demo").iterdir()) == []
    assert processes_in(tmp_path) == []


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("at", "number"), [("Kafka is up", signal.SIGINT), ("sending", signal.SIGTERM)])
def test_an_interrupted_demo_leaves_nothing(tmp_path: Path, at: str, number: signal.Signals) -> None:
    with running(tmp_path, 20_000) as (demo, output):
        said = ""
        while at not in said:
            line = output.readline()
            assert line, said
            said += line
        assert len(processes_in(tmp_path)) >= 2
        demo.send_signal(number)
        assert output.read().endswith("interrupted; everything is stopped\n")
        assert demo.wait(60) == 130
    assert list((tmp_path / ".pelton" / "demo").iterdir()) == []
    assert processes_in(tmp_path) == []
