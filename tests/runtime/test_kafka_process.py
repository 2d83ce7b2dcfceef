"""The process of a local Kafka: no orphan, and none ended by accident."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pelton import kafka_process
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError

OWNER = """
import sys
from pathlib import Path
from pelton.kafka_process import launch
print(launch([sys.executable, "-c", "import time; print('on', flush=True); time.sleep(300)"], Path(sys.argv[1]),
             owned=sys.argv[2] == "owned").pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["owned", "detached"])
def test_only_a_detached_broker_outlives_a_killed_owner(tmp_path: Path, kind: str) -> None:
    log_file = tmp_path / "log"
    command = [sys.executable, "-c", OWNER, str(log_file), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        child = psutil.Process(int(owner.stdout.readline()))
        _until(lambda: "on" in log_file.read_text())
        owner.kill()
    if kind == "detached":
        assert child.is_running()
        child.kill()
    _until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_owned_broker_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    started: list[subprocess.Popen[bytes]] = []
    command = [sys.executable, "-c", "import time; print('on', flush=True); time.sleep(300)"]
    starter = threading.Thread(
        target=lambda: started.append(kafka_process.launch(command, tmp_path / "log", owned=True))
    )
    starter.start()
    starter.join()
    _until(lambda: "on" in (tmp_path / "log").read_text())
    assert started[0].poll() is None
    started[0].kill()
    started[0].wait(10)


def test_missing_java_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LocalKafkaError, match=r"cannot start Java.*no-java"):
        kafka_process.launch([str(tmp_path / "no-java")], tmp_path / "log", owned=False)


def _until(true: Callable[[], bool]) -> None:
    deadline = Deadline.after(20.0)
    while not true():
        assert not deadline.expired
        time.sleep(0.01)
