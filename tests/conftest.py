"""What every test may use: a real Kafka, topics and names of its own. No broker is started until one is asked for."""

import gc
import os
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from pelton import kafka_config
from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError
from pelton.kafka_fetch import KAFKA_VERSION
from pelton.kafka_start import await_ready
from pelton.local_kafka import LocalKafka

pytest.register_assert_rewrite("tests.broker", "tests.chain")  # a check that tests share says what it found, too
START_S = 240.0
BROKER_FOLDERS = {"broker", "chain", "interop"}
BROKER_FIXTURES = {"brokers", "guarded", "own_kafka"}
TURNS = {"chain": 0, "broker": 1}
"""Folders whose tests take longest come first: processes that share the tests end together when short ones are left."""
# After a kill the controller refuses the broker's return until its last session has run out.
QUICK_RETURN = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from walking through torch, again and again, for garbage that is not there."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first; mark those that need a broker, and keep the broker's start out of their time limit."""
    items.sort(key=lambda item: TURNS.get(item.path.parent.name, len(TURNS)))
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if BROKER_FIXTURES & fixtures or BROKER_FOLDERS & set(item.path.parts):
            item.add_marker(pytest.mark.broker)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(60, func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Fail a skipped broker test where nobody would notice that it did not run."""
    report = yield
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and _on_ci() and item.get_closest_marker("broker"):
        report.outcome = "failed"
        report.longrepr = f"a broker test must not be skipped when CI=true: {report.longrepr}"
    return report


def _on_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.fixture(scope="session")
def brokers() -> Iterator[str]:
    """Bootstrap addresses: PELTON_TEST_BROKERS, else Kafka in Docker, else Kafka on this machine."""
    given = os.environ.get("PELTON_TEST_BROKERS")
    with ExitStack() as stack:
        yield given or _docker_kafka(stack) or _local_kafka(stack)


def _local_kafka(stack: ExitStack) -> str:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pelton-kafka-")))
    kafka = LocalKafka(folder)
    try:
        bootstrap = kafka.up(START_S)
    except LocalKafkaError as error:
        pytest.skip(f"no broker: PELTON_TEST_BROKERS is not set, no Docker, and {error}")
    stack.callback(kafka.down)
    return bootstrap


def _docker_kafka(stack: ExitStack) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever the Docker libraries deprecate is not ours to fail for
        try:
            return _start_container(stack)
        except Exception:  # noqa: BLE001 - no engine, no image, no rights: the next choice is as good
            return None
        finally:
            gc.collect()  # docker leaves its socket open when no engine answers


def _start_container(stack: ExitStack) -> str:
    import docker
    from testcontainers.core.container import DockerContainer

    image = f"apache/kafka:{KAFKA_VERSION}"
    client = docker.from_env(timeout=60)
    stack.callback(client.close)
    client.ping()
    client.images.pull(image)
    ports = kafka_config.choose_ports(None, None)
    container = DockerContainer(image).with_bind_ports(ports.client, ports.client)
    for name, value in _container_properties(ports).items():
        container = container.with_env(f"KAFKA_{name.upper().replace('.', '_')}", value)
    container.start()
    stack.callback(container.stop)
    await_ready(ports.bootstrap, _Container(), Path(os.devnull), Deadline.after(60.0))
    return ports.bootstrap


def _container_properties(ports: kafka_config.Ports) -> dict[str, str]:
    return {
        **kafka_config.BROKER_PROPERTIES,
        "listeners": f"PLAINTEXT://0.0.0.0:{ports.client},CONTROLLER://127.0.0.1:{ports.controller}",
        "advertised.listeners": f"PLAINTEXT://{ports.bootstrap}",
        "controller.quorum.voters": f"1@127.0.0.1:{ports.controller}",
    }


class _Container:
    alive = True


@pytest.fixture(scope="session")
def kafka_admin(brokers: str) -> AdminClient:
    """An admin client of the session's broker."""
    return AdminClient({"bootstrap.servers": brokers, "log_level": 0})


TopicFactory = Callable[..., str]


@pytest.fixture(scope="session")
def topic_factory(kafka_admin: AdminClient) -> TopicFactory:
    """`topic_factory(partitions=1, config={}, prefix="t")` makes a topic, waits for it, returns its unique name.

    `name` gives it a name instead.
    """

    def make(
        partitions: int = 1, config: Mapping[str, str] | None = None, prefix: str = "t", name: str | None = None
    ) -> str:
        name = name or f"{prefix}-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, partitions, replication_factor=1, config=dict(config or {}))
        kafka_admin.create_topics([topic], operation_timeout=20)[name].result(30)
        _await_topic(kafka_admin, name, partitions)
        return name

    return make


def _await_topic(admin: AdminClient, name: str, partitions: int) -> None:
    deadline = Deadline.after(20.0)
    while not deadline.expired:
        found = admin.list_topics(name, timeout=5).topics[name].partitions.values()
        if len(found) == partitions and all(each.leader >= 0 for each in found):
            return
        time.sleep(0.02)
    pytest.fail(f"topic {name} did not appear")


@pytest.fixture
def group_name(request: pytest.FixtureRequest) -> str:
    """A consumer group's name that no other test has."""
    return f"{request.node.originalname[:40]}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def own_kafka() -> Iterator[Callable[..., LocalKafka]]:
    """`own_kafka(**options)` starts a broker for this test alone, which it may stop, restart and kill.

    With `up=False` it is left to the test to start it.
    """
    with ExitStack() as stack:

        def start(*, up: bool = True, **options: Any) -> LocalKafka:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pelton-kafka-")))
            config = {**QUICK_RETURN, **options.pop("config", {})}
            kafka = LocalKafka(options.pop("data_dir", folder), config=config, **options)
            stack.callback(kafka.down)
            try:
                if up:
                    kafka.up(START_S)
            except LocalKafkaError as error:
                pytest.skip(f"no Kafka on this machine: {error}")
            return kafka

        yield start


@pytest.fixture(autouse=True)
def default_log() -> Iterator[None]:
    """Log as nobody has configured it, whatever a command under test did before."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
