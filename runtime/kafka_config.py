"""What a local Kafka is told: its properties, its ports, its cluster id, its command lines."""

import base64
import json
import os
import random
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pelton.errors import LocalKafkaError

HOST = "127.0.0.1"
LOWEST_PORT = 10_000
DEFAULT_EPHEMERAL_START = 32_768

BROKER_PROPERTIES: Mapping[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    # One node: everything that Kafka would replicate has one copy.
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Few partitions of the internal topics: the first commit need not wait for 50 of them.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # A member that dies is noticed, and its partitions move, within seconds.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


@dataclass(frozen=True, slots=True)
class Ports:
    """The two ports of a broker: one for clients, one for its own controller."""

    client: int
    controller: int

    @property
    def bootstrap(self) -> str:
        """Return the address for `bootstrap.servers`."""
        return f"{HOST}:{self.client}"


def broker_properties(data: Path, ports: Ports, extra: Mapping[str, str]) -> str:
    """Return the text of the broker's properties file; `extra` has the last word."""
    properties = {
        **BROKER_PROPERTIES,
        "log.dirs": str(data),
        "listeners": f"PLAINTEXT://{ports.bootstrap},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": f"PLAINTEXT://{ports.bootstrap}",
        "controller.quorum.voters": f"1@{HOST}:{ports.controller}",
        **extra,
    }
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def new_cluster_id() -> str:
    """Return a random cluster id: 16 bytes, URL-safe base64.

    It never starts with '-', which Kafka's format tool would read as an option.
    """
    while True:
        cluster_id = base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode()
        if not cluster_id.startswith("-"):
            return cluster_id


def ephemeral_start() -> int:
    """Return the first port the kernel may hand to any outgoing connection."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return DEFAULT_EPHEMERAL_START


def is_free(port: int) -> bool:
    """Tell whether a server could listen on this port of the loopback address now."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((HOST, port))
        except OSError:
            return False
    return True


def choose_ports(client: int | None, remembered: Ports | None) -> Ports:
    """Return ports to listen on: the wanted one, else last time's, else free ones below the ephemeral range.

    Raises LocalKafkaError when the wanted port is taken.
    """
    if client is not None and not is_free(client):
        raise LocalKafkaError(f"port {client} of {HOST} is in use by another program; choose another one")
    if remembered and client in {None, remembered.client} and _both_free(remembered):
        return remembered
    free = _free_ports()
    chosen = next(free) if client is None else client
    return Ports(chosen, next(port for port in free if port != chosen))


def _both_free(ports: Ports) -> bool:
    return is_free(ports.client) and is_free(ports.controller)


def _free_ports() -> Iterator[int]:
    # A port in the ephemeral range can be taken by any client between choosing it and listening on it.
    end = ephemeral_start()
    candidates = range(LOWEST_PORT, end) if end > LOWEST_PORT + 1000 else range(1024, 65_536)
    for port in random.sample(candidates, min(500, len(candidates))):
        if is_free(port):
            yield port
    raise LocalKafkaError(f"no free port found on {HOST}")


def read_ports(path: Path) -> Ports | None:
    """Return the ports remembered in a file, or None when there are none."""
    try:
        return Ports(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_ports(path: Path, ports: Ports) -> None:
    """Remember the ports for the next start, so that clients find the broker again."""
    path.write_text(json.dumps({"client": ports.client, "controller": ports.controller}))
