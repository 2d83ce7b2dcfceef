"""A served model on a real Kafka, and a plain client to look at it with."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from pelton.errors import LocalKafkaError

from .answered import Answered, echoing
from .outside import Hold, Outside
from .served import SERVE, Served

if TYPE_CHECKING:
    from .guarded import Guarded
    from .place import Place

PACKAGES = Path(__file__).parent / "packages"
FORMS = ("cooperative", "eager", "consumer")
Serve = Callable[..., Served]


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Guarded"]:
    """A broker that asks everybody who is there, and lets nobody do what no ACL allows."""
    from .guarded import Guarded

    broker = Guarded(tmp_path_factory.mktemp("guarded"))
    try:
        broker.kafka.up(240.0)
    except LocalKafkaError as error:
        pytest.skip(f"no Kafka on this machine: {error}")
    yield broker
    broker.kafka.down()


@pytest.fixture
def place(guarded: "Guarded") -> "Place":
    """Topics, groups and a user, who may do nothing yet, on the guarded broker."""
    from .place import Place

    return Place(guarded)


@pytest.fixture
def there(guarded: "Guarded") -> Iterator[Outside]:
    """A plain client of the guarded broker, that may do anything."""
    with Outside(guarded.bootstrap) as client:
        yield client


@pytest.fixture(scope="session")
def outside(brokers: str) -> Iterator[Outside]:
    """A plain client of the session's broker."""
    with Outside(brokers) as client:
        yield client


@pytest.fixture(scope="session")
def quick_session(outside: Outside) -> dict[str, int]:
    """Properties of a group member that is missed as soon as the broker allows."""
    resource = ConfigResource(ResourceType.BROKER, str(next(iter(outside.admin.list_topics(timeout=20).brokers))))
    allowed = outside.admin.describe_configs([resource])[resource].result(20)["group.min.session.timeout.ms"].value
    session_ms = max(1500, int(allowed))
    return {"session.timeout.ms": session_ms, "max.poll.interval.ms": session_ms}


@pytest.fixture(scope="module")
def quick_form(request: pytest.FixtureRequest, outside: Outside, quick_session: dict[str, int]) -> dict[str, Any]:
    """Settings of a group whose members are missed soon; its parameter is the form of a rebalance, one of `FORMS`."""
    group = f"group-{request.param}-{uuid.uuid4().hex[:8]}"
    if request.param == "consumer":
        outside.configure_group(group, session_timeout_ms=1500, heartbeat_interval_ms=200)
        kafka: dict[str, Any] = {"group.protocol": "consumer"}
    else:
        strategy = "range" if request.param == "eager" else "cooperative-sticky"
        kafka = {**quick_session, "partition.assignment.strategy": strategy}
    return {"stream": {"group": group}, "kafka": kafka}


@pytest.fixture(scope="module")
def serve_here(
    brokers: str, topic_factory: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serve]:
    """Like `serve`, for all tests of a module."""
    with ExitStack() as stack:
        yield _server(stack, brokers, topic_factory, tmp_path_factory)


@pytest.fixture
def serve(brokers: str, topic_factory: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """`serve(model="obedient", partitions=1, sink_partitions=1, sink_config={}, **settings)` starts `pelton serve`.

    It makes the topics, waits until all is ready, and ends with the test. With `streaming=False` there is no stream.
    `serve(settings=...)` takes settings as they are, for topics that exist or do not.
    """
    with ExitStack() as stack:
        yield _server(stack, brokers, topic_factory, tmp_path_factory)


@pytest.fixture
def answered(brokers: str, topic_factory: Callable[..., str]) -> Iterator[Answered]:
    """Four partitions each of requests and replies, and a replier that reads already."""
    requests, replies = topic_factory(4, prefix="requests"), topic_factory(4, prefix="replies")
    with echoing(brokers, requests):
        yield Answered(brokers, requests, replies)


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """What keeps a batch in the model, until the test ends at the latest."""
    held = Hold(tmp_path)
    yield held
    held.release()


def _server(
    stack: ExitStack, brokers: str, topic_factory: Callable[..., str], folders: pytest.TempPathFactory
) -> Serve:
    def start(
        model: str = "obedient",
        partitions: int = 1,
        sink_partitions: int = 1,
        sink_config: dict[str, str] | None = None,
        dead_letter_config: dict[str, str] | None = None,
        more_topics: Sequence[str] = (),
        settings: dict[str, Any] | None = None,
        ready: bool = True,
        streaming: bool = True,
        command: Sequence[str] = SERVE,
        **changes: Any,
    ) -> Served:
        if settings is None and not streaming:
            settings = settings_for(brokers, model, **changes)
        elif settings is None:
            source = topic_factory(partitions, prefix="events")
            stream = {
                "topics": [source, *more_topics],
                "group": f"group-of-{source}",
                "sink": topic_factory(sink_partitions, sink_config, prefix="scores"),
                "dead_letter": topic_factory(1, dead_letter_config, prefix="dead"),
            }
            settings = settings_for(brokers, model, stream | changes.pop("stream", {}), **changes)
        served = stack.enter_context(Served(settings, folders.mktemp("serve"), command))
        return served.until_ready() if ready else served

    return start


def settings_for(brokers: str, model: str, stream: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Return settings with clocks that suit a test."""
    kafka = {"bootstrap.servers": brokers, "topic.metadata.refresh.interval.ms": 1000}
    if changes.get("kafka", {}).get("group.protocol") != "consumer":
        kafka["heartbeat.interval.ms"] = 200
    return {
        "model": str(PACKAGES / model / "1"),
        "device": "cpu",
        "sidecar": {"port": 0},
        "log": {"format": "json"},
        "restart": {"first_s": 0.1, "max_s": 1},
        **changes,
        **({"stream": stream} if stream else {}),
        "kafka": kafka | changes.get("kafka", {}),
    }
