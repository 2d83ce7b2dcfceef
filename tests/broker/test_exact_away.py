"""A broker that is killed in the middle of transactions, and comes back."""

import os
import signal
from collections.abc import Callable

import pytest

from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .conftest import Serve, settings_for
from .outside import Outside
from .served import Served
from .test_broker_away import names
from .traffic import Traffic, freeze_in_transaction

PARTITIONS = 4
BACK_S = 15.0
"""Far more than a worker needs after the broker is back, and far less than the client's own time-outs."""
DRAIN_S = 3.0


@pytest.mark.timeout(150, func_only=True)
def test_b46_b08_b10_each_record_once_through_a_broker_that_dies_in_mid_transaction(
    own_kafka: Callable[..., LocalKafka], serve: Serve
) -> None:
    kafka = own_kafka()
    stream = names("events")
    create(kafka.bootstrap, {stream["topics"][0]: PARTITIONS, stream["sink"]: PARTITIONS, stream["dead_letter"]: 1})
    kafka_settings = {"queue.buffering.max.messages": 100, "session.timeout.ms": 3000}
    quick = {"health": {"sink_failing_s": 1}, "drain_s": DRAIN_S, "kafka": kafka_settings}
    served = serve(settings=settings_for(kafka.bootstrap, "obedient", stream, delivery="exactly-once", **quick))
    with Outside(kafka.bootstrap) as outside:
        traffic = Traffic(outside, served, PARTITIONS)
        _killed_in_a_transaction(served, kafka, outside, traffic)
        assert served.worker()["restarts"] == 0
        again = _stopped_without_a_broker(served, kafka, outside, traffic, serve)
        traffic.check(again)
        assert again.stop() == 0
        assert outside.open_transactions(served.sink) == set()


def _killed_in_a_transaction(served: Served, kafka: LocalKafka, outside: Outside, traffic: Traffic) -> None:
    with traffic.flowing(sleep_s=0.002):
        pid = freeze_in_transaction(served, outside)
    kafka.kill()
    os.kill(pid, signal.SIGCONT)
    served.eventually(lambda: served.health("ready")[0] == 503)
    assert "scores cannot leave" in served.worker()["reason"] or "waiting" in served.worker()["reason"]
    assert served.health("live")[0] == 200
    sink = served.eventually(lambda: (told := served.worker()["sink"])["attempts"] > 1 and told)
    assert (sink["state"], bool(sink["reason"])) == ("failing", True)
    kafka.up()
    served.until_ready(within_s=BACK_S)
    traffic.check()
    served.eventually(lambda: served.worker()["sink"] == {"state": "ok", "reason": "", "attempts": 0, "failing_s": 0})
    assert served.metric("pelton_sink_retries_total") >= sink["attempts"]


def _stopped_without_a_broker(
    served: Served, kafka: LocalKafka, outside: Outside, traffic: Traffic, serve: Serve
) -> Served:
    """What it could not commit is neither lost nor written twice once another one starts."""
    with traffic.flowing(sleep_s=0.01):
        pid = freeze_in_transaction(served, outside)
    kafka.kill()
    os.kill(pid, signal.SIGCONT)
    assert served.stop(signal.SIGTERM, DRAIN_S + 1) == 0
    assert "Traceback" not in served.log_text()
    kafka.up()
    return serve(settings=served.settings)
