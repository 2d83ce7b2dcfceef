"""A worker that only answers requests, and a broker that is away: at the start, in the middle, at the end."""

import signal
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from pelton import kafka_config
from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .asked import Desk
from .conftest import Serve, settings_for
from .outside import Outside
from .served import Served

DRAIN_S = 3.0


def reason(served: Served) -> str:
    """Return why it is not ready."""
    return " ".join(served.health("ready")[1])


@pytest.mark.timeout(150, func_only=True)
def test_b40_b46_b10_it_says_that_answers_cannot_leave_and_goes_on_when_they_can(
    own_kafka: Callable[..., LocalKafka], serve: Serve
) -> None:
    port, own = kafka_config.choose_ports(None, None).client, uuid.uuid4().hex[:8]
    kafka, address = own_kafka(up=False, port=port), f"127.0.0.1:{port}"
    topics = {"asked": f"asked-{own}", "answers": f"answers-{own}"}
    requests = {"topics": [topics["asked"]], "group": f"group-{own}", "reply_topics": [topics["answers"]]}
    quick: dict[str, Any] = {"health": {"sink_failing_s": 1}, "drain_s": DRAIN_S}
    served = serve(settings=settings_for(address, "obedient", requests=requests, **quick), ready=False)
    served.eventually(lambda: f"no broker answered at {address}" in reason(served))
    assert (served.worker()["state"], served.health("live")[0]) == ("joining", 200)

    kafka.up()
    with Outside(address) as outside:
        served.eventually(lambda: f"{topics['asked']}: " in reason(served))
        create(address, dict.fromkeys(topics.values(), 4))
        asked = Desk(served.until_ready(), outside)
        with asked.client() as client:
            assert client.call({"x": 1}) == 2
            kafka.kill()
            served.eventually(lambda: served.worker()["state"] == "blocked")
            assert "answers cannot leave" in reason(served)
            assert served.worker()["sink"]["state"] == "failing"
            kafka.up()
            served.until_ready()
            assert client.call({"x": 2}) == 4
    assert served.worker()["restarts"] == 0
    kafka.kill()
    served.eventually(lambda: served.worker()["state"] == "blocked")
    assert served.stop(signal.SIGTERM, within_s=DRAIN_S + 5) == 0
    assert "Traceback" not in served.log_text()
