"""A broker that is not there: at the start, in the middle, at the end; and topics that are not there yet."""

import signal
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .conftest import Serve, settings_for
from .outside import Outside, Record, event
from .served import Served

SOON_S = 6.0


@pytest.fixture
def kafka(module_kafka: LocalKafka) -> LocalKafka:
    """A broker that is up, and may be killed."""
    module_kafka.up()
    return module_kafka


@pytest.fixture
def outside(kafka: LocalKafka) -> Iterator[Outside]:
    with Outside(kafka.bootstrap) as client:
        yield client


def names(*sources: str) -> dict[str, Any]:
    """Return the stream of a served model whose topics nobody has made yet."""
    own = uuid.uuid4().hex[:8]
    return {
        "topics": [f"{source}-{own}" for source in sources],
        "group": f"group-{own}",
        "sink": f"scores-{own}",
        "dead_letter": f"dead-{own}",
    }


def reason(served: Served) -> str:
    return " ".join(served.health("ready")[1])


@pytest.mark.timeout(90, func_only=True)
def test_b40_b10_whatever_is_missing_at_the_start_is_named_awaited_and_no_reason_not_to_stop(
    kafka: LocalKafka, serve: Serve, outside: Outside
) -> None:
    address = kafka.bootstrap
    kafka.kill()
    stream = names("present", "missing")
    served, *others = [
        serve(settings=settings_for(address, "obedient", stream | {"group": group}), ready=False)
        for group in (stream["group"], "loading", "down", "no-sink", "no-source")
    ]
    loading, down, no_sink, no_source = others
    loading.eventually(lambda: "loading" in loading.states())
    assert loading.stop(signal.SIGINT, SOON_S) == 0

    served.eventually(lambda: f"no broker answered at {address}" in reason(served))
    assert (served.health("live")[0], served.health("startup")[0]) == (200, 200)
    assert down.stop(signal.SIGINT, SOON_S) == 0
    waits, lines = len(served.log("not_joined_yet")), len(served.log())
    assert lines <= 8 + 2 * waits

    kafka.up()
    served.eventually(lambda: f"no topic {stream['sink']} and no topic {stream['dead_letter']}" in reason(served))
    no_sink.eventually(lambda: stream["sink"] in reason(no_sink))
    assert no_sink.stop(signal.SIGINT, SOON_S) == 0
    create(address, {stream["sink"]: 1})
    served.eventually(lambda: reason(served).endswith(f"no topic {stream['dead_letter']}"))
    create(address, {stream["dead_letter"]: 1})

    no_source.eventually(lambda: stream["topics"][0] in no_source.worker()["reason"])
    assert no_source.stop(signal.SIGTERM, SOON_S) == 0
    create(address, {stream["topics"][0]: 2})
    (first,) = outside.send(stream["topics"][0], Record(event(1)))
    served.until_ready()
    served.eventually(lambda: outside.finished(served.group, stream["topics"][0]))
    served.eventually(lambda: stream["topics"][1] in served.worker()["reason"])
    create(address, {stream["topics"][1]: 1})
    (second,) = outside.send(stream["topics"][1], Record(event(2)))
    served.eventually(lambda: outside.finished(served.group, *served.sources))
    assert outside.scores(served.sink) == {first: [2.0], second: [4.0]}
    served.eventually(lambda: served.worker()["reason"] == "")
    assert served.worker()["restarts"] == 0
    assert len(served.log()) < 60


@pytest.mark.timeout(90, func_only=True)
def test_b46_b10_small_producer_queue_and_a_lost_broker_lose_and_double_nothing(
    kafka: LocalKafka, serve: Serve, outside: Outside
) -> None:
    stream = names("events")
    create(kafka.bootstrap, {stream["topics"][0]: 4, stream["sink"]: 2, stream["dead_letter"]: 1})
    small = {"queue.buffering.max.messages": 100}
    served = serve(
        settings=settings_for(kafka.bootstrap, "obedient", stream, kafka=small, drain_s=5, health={"sink_failing_s": 1})
    )
    records = [Record(event(x, sleep_s=0.0003), partition=x % 4) for x in range(10_000)]
    sent = outside.send(served.source, *records)
    served.eventually(lambda: served.worker()["totals"]["scored"] > 500)
    kafka.kill()
    served.eventually(lambda: served.health("ready")[0] == 503)
    assert served.health("live")[0] == 200
    kafka.up()
    served.until_ready()
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {at: [2.0 * x] for x, at in enumerate(sent)}
    assert served.worker()["restarts"] == 0

    outside.send(served.source, *(Record(event(x, sleep_s=0.01), partition=x % 4) for x in range(400)))
    served.eventually(lambda: served.age_s("oldest_unfinished"))
    kafka.kill()
    served.tell(signal.SIGTERM)
    assert served.ended(within_s=6) == 0
    assert "Traceback" not in served.log_text()


def test_b52_dead_letters_into_the_source_are_refused_before_any_connection(serve: Serve) -> None:
    stream = names("events")
    served = serve(
        settings=settings_for("127.0.0.1:9", "obedient", stream | {"dead_letter": stream["topics"][0]}), ready=False
    )
    assert served.ended() == 2
    assert "stream.dead_letter" in served.log_text()
    assert "would go round" in served.log_text()
    assert served.log("worker_state", "sidecar_listens") == []
