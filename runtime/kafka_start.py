"""The steps of a local Kafka's start: format its storage, wait until it answers, quote its log if it dies."""

import socket
import time
from pathlib import Path
from typing import Protocol

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from pelton import kafka_config
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_java import Java, excerpt

_PORT_TAKEN = "Address already in use"


class Alive(Protocol):
    """Whatever can say whether the broker still lives."""

    @property
    def alive(self) -> bool:
        """Tell whether the process lives."""


def format_storage(java: Java, properties: Path) -> None:
    """Give the empty data folder that `properties` names its cluster id.

    Raises LocalKafkaError with what Kafka said when it refuses.
    """
    cluster_id = kafka_config.new_cluster_id()
    # A format cut short leaves a folder without its last file; doing it again completes it.
    options = ("--ignore-formatted", "--cluster-id", cluster_id, "--config", str(properties))
    java.run("kafka.tools.StorageTool", "format", *options)


def await_ready(bootstrap: str, broker: Alive, log_file: Path, deadline: Deadline) -> None:
    """Wait until the broker answers a client.

    Raises LocalKafkaError, which quotes the broker's log, when it dies or does not answer in time.
    """
    admin: AdminClient | None = None
    while True:
        if not broker.alive:
            raise LocalKafkaError(f"Kafka died; its log {log_file} says:\n{log_excerpt(log_file)}")
        if deadline.expired:
            said = f"its log {log_file} says:\n{log_excerpt(log_file)}"
            raise LocalKafkaError(f"Kafka at {bootstrap} was not ready in time; {said}")
        # Only once the port is open: a client that was refused waits longer before it tries again.
        if admin is None and _listening(bootstrap):
            admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        if admin is not None and _answers(admin, deadline):
            return
        time.sleep(0.05)


def _listening(bootstrap: str) -> bool:
    host, port = bootstrap.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=1.0).close()
    except OSError:
        return False
    return True


def _answers(admin: AdminClient, deadline: Deadline) -> bool:
    try:
        return bool(admin.list_topics(timeout=max(0.1, min(2.0, deadline.remaining_s()))).brokers)
    except KafkaException:
        return False


def lost_port_race(log_file: Path) -> bool:
    """Tell whether a broker died because another program took its port just before it."""
    return _PORT_TAKEN in _read(log_file)


def log_excerpt(log_file: Path) -> str:
    """Return the lines of a broker's log file that tell why it died."""
    return excerpt(_read(log_file))


def _read(log_file: Path) -> str:
    try:
        return log_file.read_text(errors="replace")
    except OSError:
        return ""
