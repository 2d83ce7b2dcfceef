"""Requests while something else goes on: a stream with a backlog, a worker that stops."""

from collections.abc import Callable

import pytest

from .asked import desk, stop_in_mid_batch, told
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
    records = stop_in_mid_batch(asked, hold)
    assert outside.members(asked.group) == set()
    assert "Traceback" not in asked.served.log_text()

    again = serve(settings=asked.served.settings)
    rest = again.eventually(lambda: asked.answers(*records))
    assert [[told(answer)["data"] for answer in each] for each in rest] == [[2 * x] for x in range(30)]
    again.eventually(lambda: outside.finished(asked.group, asked.requests))
