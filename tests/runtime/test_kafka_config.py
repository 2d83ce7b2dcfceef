"""What a local Kafka is told: ports, cluster id, properties, command line."""

import base64
import os
import re
import socket
from pathlib import Path

import pytest

from pelton import kafka_config
from pelton.errors import LocalKafkaError
from pelton.kafka_config import Ports
from pelton.kafka_java import Java


def test_cluster_id_never_starts_like_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter([b"\xf8" + bytes(15), b"\xfb" + bytes(15), b"\x01" + bytes(15)])
    monkeypatch.setattr(os, "urandom", lambda n: next(draws))
    cluster_id = kafka_config.new_cluster_id()
    assert base64.urlsafe_b64encode(b"\xf8" + bytes(15)).startswith(b"-")
    assert cluster_id == "AQAAAAAAAAAAAAAAAAAAAA"


def test_chosen_ports_are_free_differ_and_lie_below_the_ephemeral_range() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = kafka_config.choose_ports(None, None)
    assert ports.client != ports.controller
    for port in (ports.client, ports.controller):
        assert port < lowest
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_taken_port_is_refused_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=rf"port {taken} .*in use"):
            kafka_config.choose_ports(taken, None)
        assert taken not in _pair(kafka_config.choose_ports(None, Ports(taken, taken + 1)))


def test_last_times_ports_are_taken_again() -> None:
    last = kafka_config.choose_ports(None, None)
    assert kafka_config.choose_ports(None, last) == last
    assert kafka_config.choose_ports(last.client, last) == last


def _pair(ports: Ports) -> tuple[int, int]:
    return ports.client, ports.controller


def test_properties_listen_on_loopback_only_and_carry_the_limits() -> None:
    text = kafka_config.broker_properties(Path("/d"), Ports(1234, 1235), {"num.io.threads": "2"})
    properties = dict(line.split("=", 1) for line in text.splitlines())
    hosts = re.findall(r"//([^:]+):|@([^:]+):", text)
    assert len(hosts) == 4
    assert {host for pair in hosts for host in pair if host} == {"127.0.0.1"}
    assert properties["auto.create.topics.enable"] == "false"
    assert properties["group.initial.rebalance.delay.ms"] == "0"
    assert properties["group.min.session.timeout.ms"] == "1000"
    assert properties["group.consumer.min.session.timeout.ms"] == "1000"
    assert properties["transaction.abort.timed.out.transaction.cleanup.interval.ms"] == "1000"
    assert properties["transaction.state.log.replication.factor"] == "1"
    assert properties["num.io.threads"] == "2"


def test_own_properties_have_the_last_word() -> None:
    text = kafka_config.broker_properties(Path("/d"), Ports(1, 2), {"auto.create.topics.enable": "true"})
    assert re.findall(r"auto\.create\.topics\.enable=(.*)", text) == ["true"]


def test_command_line_bounds_the_heap_and_ends_with_the_class() -> None:
    command = Java("/j/java", "a.jar:b.jar").command(256, "kafka.Kafka", "p")
    assert command[0] == "/j/java"
    assert {"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"} <= set(command)
    assert command[-4:] == ["-cp", "a.jar:b.jar", "kafka.Kafka", "p"]
