"""A local Kafka without Kafka: it dies, it hangs, it goes up and down."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pelton import local_kafka
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_java import Java, excerpt
from pelton.local_kafka import LocalKafka

FakeJava = Callable[..., Java]

DIES = """print("INFO starting"); print("ERROR Exiting Kafka due to fatal exception: disk on fire"); sys.exit(1)"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(300)"


def test_log_is_quoted_when_the_broker_dies(kafka: LocalKafka, fake_java: FakeJava) -> None:
    fake_java(DIES)
    with pytest.raises(LocalKafkaError, match="disk on fire") as caught:
        kafka.up(10)
    assert str(kafka.log_file) in str(caught.value)
    assert "INFO starting" not in str(caught.value)
    assert not kafka.status().running


def test_broker_that_never_answers_is_ended(kafka: LocalKafka, fake_java: FakeJava) -> None:
    fake_java()
    with pytest.raises(LocalKafkaError, match="not ready in time"):
        kafka.up(0.4)
    assert not kafka.status().running
    assert not _processes_of(kafka)


def test_what_the_format_tool_said_is_told(kafka: LocalKafka, fake_java: FakeJava) -> None:
    fake_java(format_exit="Exception: the disk is full")
    with pytest.raises(LocalKafkaError, match="the disk is full"):
        kafka.up(10)


def test_lost_port_race_is_run_again_with_other_ports(
    kafka: LocalKafka, fake_java: FakeJava, answers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def dies_once(bootstrap: str, *_: object) -> None:
        seen.append(bootstrap)
        if len(seen) == 1:
            kafka.log_file.write_text("java.net.BindException: Address already in use\n")
            raise LocalKafkaError("Kafka died")

    monkeypatch.setattr(local_kafka, "await_ready", dies_once)
    fake_java()
    assert kafka.up(10) == seen[-1]
    assert len(seen) == 2
    _until(lambda: len(_processes_of(kafka)) == 1)


def test_unusable_data_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalKafkaError, match=f"cannot use {tmp_path}/file/kafka"):
        LocalKafka(tmp_path / "file" / "kafka").up(5)


def test_excerpt_prefers_errors_and_else_takes_the_end() -> None:
    calm = [f"INFO line {i}" for i in range(40)]
    assert excerpt("\n".join(calm)).split("\n")[-1].strip() == "INFO line 39"
    assert excerpt("\n".join(calm)).count("\n") == 11
    assert excerpt("\n".join([*calm[:20], "ERROR why", *calm[20:]])).strip() == "ERROR why"
    assert len(excerpt("ERROR " + "x" * 5000)) < 400


def test_up_is_idempotent_and_down_ends_it(kafka: LocalKafka, fake_java: FakeJava, answers: None) -> None:
    fake_java()
    first = kafka.up()
    before = kafka.status()
    assert before.running
    assert LocalKafka(kafka.data_dir).up() == first
    assert kafka.status() == before
    assert kafka.down()
    assert not kafka.status().running
    assert not kafka.down()
    assert not _processes_of(kafka)
    assert kafka.up() == first


def test_other_port_than_the_running_one_is_refused(kafka: LocalKafka, fake_java: FakeJava, answers: None) -> None:
    fake_java()
    port = int(kafka.up().split(":")[1])
    with pytest.raises(LocalKafkaError, match=f"up at 127.0.0.1:{port}, not at port 19999"):
        LocalKafka(kafka.data_dir, port=19999).up()


def test_block_stops_only_what_it_started(kafka: LocalKafka, fake_java: FakeJava, answers: None) -> None:
    fake_java()
    with LocalKafka(kafka.data_dir):
        assert kafka.status().running
    assert not kafka.status().running
    kafka.up()
    with LocalKafka(kafka.data_dir):
        pass
    assert kafka.status().running


def test_data_are_deleted_only_when_down(kafka: LocalKafka, fake_java: FakeJava, answers: None) -> None:
    fake_java()
    kafka.up()
    topic = kafka.data_dir / "data" / "flights-0"
    topic.mkdir(parents=True)
    (topic.parent / "meta.properties").touch()
    with pytest.raises(LocalKafkaError, match="is up"):
        kafka.delete_data()
    kafka.down()
    kafka.delete_data()
    assert not topic.exists()


def test_a_folder_called_data_that_is_no_kafkas_is_left_alone(tmp_path: Path) -> None:
    """`pelton kafka down --delete-data --data-dir ""` means the folder one happens to be in."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").touch()
    LocalKafka(tmp_path).delete_data()
    assert (tmp_path / "data" / "thesis.txt").exists()


@pytest.mark.parametrize(
    "content", ["own", "", "{}", '{"pid": "x", "started_s": 0}', '{"pid": 4194304, "started_s": 1}']
)
def test_stale_pid_file_names_nobody(kafka: LocalKafka, content: str) -> None:
    me = psutil.Process()
    kafka.data_dir.mkdir()
    own = json.dumps({"pid": me.pid, "started_s": me.create_time()})
    (kafka.data_dir / "broker.json").write_text(own if content == "own" else content)
    assert not kafka.status().running
    assert not kafka.down()


def test_term_is_followed_by_kill(
    kafka: LocalKafka, fake_java: FakeJava, answers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(DEAF)
    monkeypatch.setattr(local_kafka, "STOP_GRACE_S", 0.05)
    kafka.up()
    _until(lambda: "on" in kafka.log_file.read_text())
    assert kafka.down()
    assert not _processes_of(kafka)


def _processes_of(kafka: LocalKafka) -> list[int]:
    mine = str(kafka.data_dir / "server.properties")
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if mine in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def _until(true: Callable[[], bool]) -> None:
    deadline = Deadline.after(20.0)
    while not true():
        assert not deadline.expired
        time.sleep(0.01)
