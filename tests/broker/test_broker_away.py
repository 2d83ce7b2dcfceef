"""A broker that is not there: at the start, in the middle, at the end; and topics that are not there yet."""

import signal
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from pelton import kafka_config
from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .conftest import Serve, settings_for
from .outside import Outside, Record, event
from .served import Served

SOON_S = 6.0
DRAIN_S = 3.0
AWAY_S = 60.0


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
    """Return why it is not ready."""
    return " ".join(served.health("ready")[1])


@pytest.mark.timeout(180, func_only=True)
def test_b40_b46_b10_b52_broker_away_at_the_start_in_the_middle_and_at_the_end(
    own_kafka: Callable[..., LocalKafka], serve: Serve
) -> None:
    port = kafka_config.choose_ports(None, None).client
    kafka = own_kafka(up=False, port=port)
    address = f"127.0.0.1:{port}"
    stream = names("present", "missing")
    quick = {"health": {"sink_failing_s": 1}, "drain_s": DRAIN_S, "kafka": {"queue.buffering.max.messages": 100}}
    settings = {
        group: settings_for(address, "obedient", stream | {"group": group}, **quick)
        for group in ("main", "down", "idle")
    }
    loading = serve(settings=settings["main"], ready=False)
    loading.eventually(lambda: "loading" in loading.states())
    assert loading.stop(signal.SIGINT, SOON_S) == 0

    served, down, idle = [serve(settings=each, ready=False) for each in settings.values()]
    served.eventually(lambda: f"no broker answered at {address}" in reason(served))
    assert (served.health("live")[0], served.health("startup")[0]) == (200, 200)
    assert down.stop(signal.SIGINT, SOON_S) == 0
    assert len(served.log()) <= 8 + 3 * len(served.log("not_joined_yet"))

    kafka.up()
    with Outside(address) as outside:
        _topics_come_one_by_one(served, idle, outside)
        _broker_dies_in_the_middle(served, kafka, outside)
    _stop_while_the_broker_is_away(served, kafka)
    assert len(served.log()) < 100
    assert "Traceback" not in served.log_text()


def _topics_come_one_by_one(served: Served, idle: Served, outside: Outside) -> None:
    """Each topic that is missing is named, the others are read, and the model that has none can be stopped."""
    present, missing = served.sources
    served.eventually(lambda: f"no topic {served.sink} and no topic {served.dead_letter}" in reason(served))
    create(outside.brokers, {served.sink: 2})
    served.eventually(lambda: reason(served).endswith(f"no topic {served.dead_letter}"))
    create(outside.brokers, {served.dead_letter: 1})

    idle.eventually(lambda: present in idle.worker()["reason"])
    assert idle.stop(signal.SIGTERM, SOON_S) == 0
    create(outside.brokers, {present: 4})
    (first,) = outside.send(present, Record(event(1)))
    served.until_ready()
    served.eventually(lambda: outside.finished(served.group, present))
    served.eventually(lambda: missing in served.worker()["reason"])
    create(outside.brokers, {missing: 1})
    (second,) = outside.send(missing, Record(event(2)))
    served.eventually(lambda: outside.finished(served.group, present, missing))
    assert outside.scores(served.sink) == {first: [2.0], second: [4.0]}
    served.eventually(lambda: served.worker()["reason"] == "")


def _broker_dies_in_the_middle(served: Served, kafka: LocalKafka, outside: Outside) -> None:
    """Ten thousand scores through a producer queue of a hundred, with a broker that is killed meanwhile."""
    before = served.worker()["totals"]["scored"]
    sent = outside.send(served.source, *(Record(event(x, sleep_s=0.0002), partition=x % 4) for x in range(10_000)))
    served.eventually(lambda: served.worker()["totals"]["scored"] > before + 500)
    kafka.kill()
    served.eventually(lambda: served.health("ready")[0] == 503)
    assert served.health("live")[0] == 200
    kafka.up()
    served.until_ready()
    served.eventually(lambda: outside.finished(served.group, served.source))
    scores = outside.scores(served.sink)
    assert {at: scores.get(at) for at in sent} == {at: [2.0 * x] for x, at in enumerate(sent)}
    assert served.worker()["restarts"] == 0
    outside.send(served.source, *(Record(event(x, sleep_s=0.01), partition=x % 4) for x in range(300)))


def _stop_while_the_broker_is_away(served: Served, kafka: LocalKafka) -> None:
    served.eventually(lambda: served.age_s("oldest_unfinished"))
    kafka.kill()
    assert served.stop(signal.SIGTERM, DRAIN_S + 1) == 0


@pytest.mark.chaos
@pytest.mark.timeout(240, func_only=True)
def test_b40_broker_that_is_away_for_a_minute_at_the_start(own_kafka: Callable[..., LocalKafka], serve: Serve) -> None:
    kafka = own_kafka()
    stream = names("events")
    create(kafka.bootstrap, dict.fromkeys([*stream["topics"], stream["sink"], stream["dead_letter"]], 1))
    kafka.down()
    served = serve(settings=settings_for(kafka.bootstrap, "obedient", stream), ready=False)
    began_s = time.monotonic()
    served.eventually(lambda: "no broker answered" in reason(served))
    while time.monotonic() - began_s < AWAY_S:
        assert (served.health("live")[0], served.health("startup")[0], served.health("ready")[0]) == (200, 200, 503)
        time.sleep(1)
    tries = served.log("not_joined_yet")
    waits_s = [line["retry_in_s"] for line in tries]
    assert waits_s == sorted(waits_s)
    assert sum(waits_s[:-1]) < AWAY_S
    assert len(served.log()) < 20 + len(tries)
    kafka.up()
    with Outside(kafka.bootstrap) as outside:
        (at,) = outside.send(served.source, Record(event(1)))
        served.until_ready()
        served.eventually(lambda: outside.finished(served.group, served.source))
        assert outside.scores(served.sink) == {at: [2.0]}
    assert served.states().count("starting") == 1


def test_b52_dead_letters_into_the_source_are_refused_before_any_connection(serve: Serve) -> None:
    stream = names("events")
    round_trip = stream | {"dead_letter": stream["topics"][0]}
    served = serve(settings=settings_for("127.0.0.1:9", "obedient", round_trip), ready=False)
    assert served.ended() == 2
    assert "stream.dead_letter" in served.log_text()
    assert "would go round" in served.log_text()
    assert served.log("worker_state", "sidecar_listens") == []
