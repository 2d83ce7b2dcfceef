"""A real Apache Kafka on this machine: one node, no Docker, no installed Java."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import structlog

from pelton import kafka_config, kafka_fetch
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_archive import ensure_archive
from pelton.kafka_java import Java
from pelton.kafka_process import Broker, KafkaStatus, launch
from pelton.kafka_start import await_ready, format_storage, lost_port_race

log = structlog.get_logger(__name__)

STOP_GRACE_S = 15.0
START_ATTEMPTS = 3


class LocalKafka:
    """A single-node Apache Kafka that keeps everything it has in one folder.

    `port` None means last time's port, else a free one; `heap_mb` bounds Java's heap in MiB; `config` holds
    broker properties that override ours. As a context manager it is up inside the block, and what the block
    started is down after it. A broker started without `detach` dies with this process, however that ends.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        heap_mb: int = 512,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.log_file = self.data_dir / "kafka.log"
        self._port = port
        self._heap_mb = heap_mb
        self._config = dict(config or {})
        self._data = self.data_dir / "data"
        self._properties = self.data_dir / "server.properties"
        self._ports_file = self.data_dir / "ports.json"
        self._pid_file = self.data_dir / "broker.json"
        self._lock = self.data_dir / "lock"
        self._started_here = False

    @property
    def bootstrap(self) -> str:
        """Return the address for `bootstrap.servers`.

        Raises LocalKafkaError when this folder's broker was never started.
        """
        bootstrap = self.remembered_bootstrap
        if bootstrap is None:
            raise LocalKafkaError(f"no Kafka was ever started in {self.data_dir}")
        return bootstrap

    @property
    def remembered_bootstrap(self) -> str | None:
        """Return the address of the last start, or None when this folder's broker was never started."""
        ports = kafka_config.read_ports(self._ports_file)
        return ports.bootstrap if ports else None

    def up(self, timeout_s: float = 120.0, *, detach: bool = False) -> str:
        """Start the broker if it is not up, wait until it answers, and return its bootstrap address.

        The first start of this user fetches Apache Kafka (under a minute), which `timeout_s` does not bound.
        With `detach` the broker outlives this process. Raises LocalKafkaError when it cannot be fetched,
        dies, or is not ready in `timeout_s`.
        """
        deadline = Deadline.after(timeout_s)
        try:
            with kafka_fetch.locked(self._lock, deadline):
                broker = self._find()
                if broker is None:
                    return self._start(timeout_s, detach=detach)
                self._refuse_other_port()
                await_ready(self.bootstrap, broker, self.log_file, deadline)
                return self.bootstrap
        except OSError as error:
            raise LocalKafkaError(f"cannot use {self.data_dir} for a local Kafka: {error}") from error

    def down(self) -> bool:
        """Stop the broker, whoever started it, and tell whether there was one.

        Raises LocalKafkaError when another process is starting it, or it cannot be ended.
        """
        if not self._pid_file.exists():
            return False
        with kafka_fetch.locked(self._lock, Deadline.after(60.0)):
            return self._end(STOP_GRACE_S)

    def kill(self) -> bool:
        """Kill the broker with SIGKILL, as a crash would, and tell whether there was one."""
        return self._end(0.0)

    def restart(self, timeout_s: float = 120.0, *, detach: bool = False) -> str:
        """Stop the broker and start it again at the same address, with the data it had."""
        self.down()
        return self.up(timeout_s, detach=detach)

    def status(self) -> KafkaStatus:
        """Return whether the broker runs, where, and since when."""
        bootstrap, broker = self.remembered_bootstrap, self._find()
        if broker is None:
            return KafkaStatus(running=False, bootstrap=bootstrap)
        return KafkaStatus(
            running=True,
            bootstrap=bootstrap,
            pid=broker.pid,
            started_s=broker.started_s,
            resident_bytes=broker.resident_bytes,
        )

    def delete_data(self) -> None:
        """Delete every topic and offset, and forget the cluster id; the ports stay.

        Raises LocalKafkaError while the broker is up.
        """
        if self._find() is not None:
            raise LocalKafkaError(f"the Kafka of {self.data_dir} is up; stop it before deleting its data")
        if (self._data / "meta.properties").exists():  # else it is somebody else's folder called data
            shutil.rmtree(self._data, ignore_errors=True)

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        if self._started_here:
            self.down()

    def _find(self) -> Broker | None:
        return Broker.read(self._pid_file, self._properties)

    def _refuse_other_port(self) -> None:
        ports = kafka_config.read_ports(self._ports_file)
        if ports and self._port not in {None, ports.client}:
            raise LocalKafkaError(
                f"the Kafka of {self.data_dir} is up at {ports.bootstrap}, not at port {self._port}; "
                "stop it first to change its port"
            )

    def _start(self, timeout_s: float, *, detach: bool) -> str:
        began_s = time.monotonic()
        java, deadline = Java.ready(), Deadline.after(timeout_s)
        ensure_archive(java, deadline)
        for attempt in range(START_ATTEMPTS):
            ports = self._configure(java)
            try:
                broker = self._launch(java, detach=detach)
                await_ready(ports.bootstrap, broker, self.log_file, deadline)
                break
            except BaseException as error:
                self._end(0.0)
                lost = isinstance(error, LocalKafkaError) and lost_port_race(self.log_file)
                if not lost or attempt + 1 == START_ATTEMPTS:
                    raise
        self._started_here = not detach
        startup_s = round(time.monotonic() - began_s, 2)
        log.info("local_kafka_up", bootstrap=ports.bootstrap, pid=broker.pid, startup_s=startup_s)
        return ports.bootstrap

    def _configure(self, java: Java) -> kafka_config.Ports:
        ports = kafka_config.choose_ports(self._port, kafka_config.read_ports(self._ports_file))
        kafka_config.write_ports(self._ports_file, ports)
        self._properties.write_text(kafka_config.broker_properties(self._data, ports, self._config))
        if not (self._data / "meta.properties").exists():
            format_storage(java, self._properties)
        return ports

    def _launch(self, java: Java, *, detach: bool) -> Broker:
        if self.log_file.exists():
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        command = java.command(self._heap_mb, "kafka.Kafka", str(self._properties))
        process = launch(command, self.log_file, owned=not detach)
        broker = Broker.of(process.pid, self._properties)
        broker.write(self._pid_file)
        return broker

    def _end(self, grace_s: float) -> bool:
        broker = self._find()
        if broker is not None:
            broker.end(grace_s)
            log.info("local_kafka_down", pid=broker.pid, killed=grace_s == 0)
        self._pid_file.unlink(missing_ok=True)
        self._started_here = False
        return broker is not None
