"""Kafka's classes in the form the Java machine has them after loading, kept so that later starts cost half."""

import tempfile
from pathlib import Path

import structlog

from pelton import kafka_config
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_fetch import lock_fetch
from pelton.kafka_java import Java
from pelton.kafka_process import Broker, launch
from pelton.kafka_start import await_ready, format_storage

log = structlog.get_logger(__name__)

HEAP_MB = 512
LEAST_TIME_S = 60.0


def ensure_archive(java: Java, deadline: Deadline) -> None:
    """Make the class archive of this Java and Kafka, once per user, by starting and stopping a throw-away broker.

    It takes some ten seconds and is skipped when less than a minute is left. Where it fails, Kafka starts
    without it, and it is not tried again.
    """
    if java.archive is None or java.archive.exists() or deadline.remaining_s() < LEAST_TIME_S:
        return
    with lock_fetch(deadline):
        if java.archive.exists():
            return
        partial = java.archive.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        try:
            _make(java, partial, deadline)
        except (LocalKafkaError, OSError) as error:
            log.warning("kafka_archive_failed", reason=str(error))
        partial.touch()
        partial.replace(java.archive)


def _make(java: Java, output: Path, deadline: Deadline) -> None:
    log.info("kafka_archive_started")
    with tempfile.TemporaryDirectory(prefix="pelton-kafka-") as name:
        folder = Path(name)
        properties, log_file, ports = folder / "p", folder / "log", kafka_config.choose_ports(None, None)
        properties.write_text(kafka_config.broker_properties(folder / "data", ports, {}))
        format_storage(java, properties)
        command = java.command(HEAP_MB, "kafka.Kafka", str(properties), archive_to=output)
        broker = Broker.of(launch(command, log_file, owned=True).pid, properties)
        try:
            await_ready(ports.bootstrap, broker, log_file, deadline)
            # Java writes the archive on its way out, which takes longer than the start itself.
            broker.end(deadline.remaining_s())
        finally:
            broker.end(0.0)
    log.info("kafka_archive_finished", bytes=output.stat().st_size if output.exists() else 0)
