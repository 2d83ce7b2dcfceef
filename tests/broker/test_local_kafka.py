"""The real Apache Kafka of this machine: quick, private, durable over a crash, and never an orphan."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from pelton import kafka_config
from pelton.deadline import Deadline
from pelton.kafka_java import Java
from pelton.local_kafka import LocalKafka

OwnKafka = Callable[..., LocalKafka]
OWNER = """
import sys
from pelton.local_kafka import LocalKafka
with LocalKafka(sys.argv[1]):
    print("up", flush=True)
    sys.stdin.read()
"""
CLI = [sys.executable, "-c", "from pelton.cli_kafka import app; app()"]


def test_broker_has_the_settings_listens_on_loopback_and_its_tools_run(own_kafka: OwnKafka) -> None:
    kafka = own_kafka(config={"num.io.threads": "3"})
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    resource = ConfigResource(ResourceType.BROKER, "1")
    told = admin.describe_configs([resource])[resource].result(20)
    assert told["auto.create.topics.enable"].value == "false"
    assert told["group.min.session.timeout.ms"].value == "1000"
    assert told["group.consumer.min.session.timeout.ms"].value == "1000"
    assert told["group.consumer.min.heartbeat.interval.ms"].value == "200"
    assert told["transaction.abort.timed.out.transaction.cleanup.interval.ms"].value == "1000"
    assert told["num.io.threads"].value == "3"
    hosts = _listening_hosts(kafka)
    assert len(hosts) == 2
    assert set(hosts) <= {"127.0.0.1", "::ffff:127.0.0.1"}
    said = Java.ready().run(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", kafka.bootstrap),
        *("--create", "--topic", "by-tool", "--partitions", "2"),
    )
    assert "by-tool" in said
    assert len(admin.list_topics("by-tool", timeout=10).topics["by-tool"].partitions) == 2


def test_acknowledged_records_outlive_a_kill_and_a_restart_at_the_same_address(own_kafka: OwnKafka) -> None:
    kafka = own_kafka()
    address = kafka.bootstrap
    topic = _new_topic(address)
    for record in (b"first", b"second"):
        _produce(address, topic, record)
        assert kafka.kill() if record == b"first" else kafka.down()
        assert not kafka.status().running
        assert kafka.up() == address
    assert _values(address, topic, 2) == [b"first", b"second"]


def test_two_starts_at_once_make_one_broker_that_outlives_them(tmp_path: Path) -> None:
    where = ["--data-dir", str(tmp_path / "kafka")]
    port = str(kafka_config.choose_ports(None, None).client)
    up = [*CLI, "up", *where, "--port", port]
    starts = [subprocess.Popen(up, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in "ab"]
    said = [start.communicate(timeout=50)[0] for start in starts]
    kafka = LocalKafka(tmp_path / "kafka")
    try:
        assert [start.returncode for start in starts] == [0, 0], said
        assert all(f"127.0.0.1:{port}" in each for each in said)
        assert len(_processes(kafka)) == 1
        assert AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=10).brokers
    finally:
        down = subprocess.run([*CLI, "down", *where], timeout=50, check=False, capture_output=True, text=True)
    assert down.returncode == 0, down.stdout + down.stderr
    assert _processes(kafka) == []


def test_broker_of_a_killed_program_is_gone(tmp_path: Path) -> None:
    kafka = LocalKafka(tmp_path / "kafka")
    command = [sys.executable, "-c", OWNER, str(kafka.data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        assert any(line == "up\n" for line in owner.stdout)
        assert kafka.status().running
        owner.kill()
    deadline = Deadline.after(20.0)
    while kafka.status().running:
        assert not deadline.expired
        time.sleep(0.02)


def test_unknown_topic_is_not_made_by_asking(brokers: str) -> None:
    name = f"never-made-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": brokers})
    assert admin.list_topics(name, timeout=10).topics[name].error is not None
    assert name not in admin.list_topics(timeout=10).topics


def test_topic_factory_makes_what_is_asked(brokers: str, topic_factory: Callable[..., str]) -> None:
    first, second = topic_factory(3, {"cleanup.policy": "compact"}), topic_factory()
    admin = AdminClient({"bootstrap.servers": brokers})
    assert first != second
    topics = admin.list_topics(timeout=10).topics
    assert (len(topics[first].partitions), len(topics[second].partitions)) == (3, 1)
    resource = ConfigResource(ResourceType.TOPIC, first)
    assert admin.describe_configs([resource])[resource].result(20)["cleanup.policy"].value == "compact"


def _new_topic(address: str) -> str:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("kept", 1, 1)], operation_timeout=20)["kept"].result(30)
    return "kept"


def _produce(address: str, topic: str, value: bytes) -> None:
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    producer.flush(20)
    assert errors == [None]


def _values(address: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, 20)]
    finally:
        consumer.close()


def _processes(kafka: LocalKafka) -> list[int]:
    mine = str(kafka.data_dir / "server.properties")
    return [each.pid for each in psutil.process_iter(["cmdline"]) if mine in (each.info["cmdline"] or [])]


def _listening_hosts(kafka: LocalKafka) -> list[str]:
    connections = psutil.Process(kafka.status().pid).net_connections("tcp")
    return [each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN]
