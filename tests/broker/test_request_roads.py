"""Requests while something else goes on: a stream with a backlog, a worker that stops."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

from .asked import desk, told
from .conftest import Serve
from .outside import Hold, Outside, Record, event

BACKLOG = 2000


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_requests_are_answered_while_the_stream_has_a_full_backlog(
    serve: Serve, outside: Outside, topic_factory: Callable[..., str], delivery: str
) -> None:
    slow = {"batch": {"max_size": 8}, "queue": {"max_records": 16}}
    asked = desk(serve, topic_factory, outside, delivery=delivery, **slow)
    outside.send(asked.served.source, *(Record(event(x, sleep_s=0.005)) for x in range(BACKLOG)))
    with asked.client() as client:
        asked.served.eventually(lambda: asked.served.metric("pelton_scored_total") > 0)
        assert [client.call({"x": x}) for x in range(20)] == list(range(0, 40, 2))
        assert client.call_many({"x": x} for x in range(200)) == list(range(0, 400, 2))
    assert not outside.finished(asked.served.group, asked.served.source)
    asked.served.eventually(lambda: outside.finished(asked.group, asked.requests))
    assert outside.open_transactions(asked.replies) == set()
    before = asked.served.metric("pelton_scored_total")
    asked.served.eventually(lambda: asked.served.metric("pelton_scored_total") > before)


def test_b10_stopped_in_mid_batch_each_request_is_answered_or_left_for_the_next_worker(
    serve: Serve, outside: Outside, topic_factory: Callable[..., str], hold: Hold
) -> None:
    asked = desk(serve, topic_factory, outside, drain_s=10, batch={"max_size": 4})
    wishes: dict[int, dict[str, Any]] = {2: {"hold": hold.file}}
    records = [asked.record({"x": x, **wishes.get(x, {})}) for x in range(30)]
    outside.send(asked.requests, *records)
    asked.served.eventually(hold.reached)
    asked.served.tell(signal.SIGTERM)
    # The supervisor says so first; it is the worker that has to have heard.
    asked.served.eventually(lambda: any("waiting" in line for line in asked.served.log("draining")))
    hold.release()
    assert asked.served.ended(within_s=12) == 0
    done = outside.committed(asked.group, asked.requests)[0]
    assert 2 < done < 30
    answers = asked.answers(*records[:done])
    assert [told(answer[0])["data"] for answer in answers] == [2 * x for x in range(done)]
    assert outside.members(asked.group) == set()
    assert "Traceback" not in asked.served.log_text()

    again = serve(settings=asked.served.settings)
    rest = again.eventually(lambda: asked.answers(*records))
    assert [[told(answer)["data"] for answer in each] for each in rest] == [[2 * x] for x in range(30)]
    again.eventually(lambda: outside.finished(asked.group, asked.requests))
