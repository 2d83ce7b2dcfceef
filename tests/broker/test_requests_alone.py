"""A worker that only answers requests, on a real Kafka: from its start to its end."""

import signal
from collections.abc import Callable

import pytest

from .asked import Desk, desk_alone, stop_in_mid_batch, told
from .conftest import Serve
from .outside import Hold, Outside
from .served import COMMITS_S
from .test_doctor import doctor


def test_it_is_ready_answers_tells_of_itself_and_ends(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside
) -> None:
    asked = desk_alone(serve, topic_factory, outside, batch={"max_size": 8})
    served = asked.served
    assert served.health("startup") == served.health("live") == served.health("ready") == (200, [])
    with asked.client() as client:
        assert client.call_many({"x": x} for x in range(200)) == [2 * x for x in range(200)]
        assert client.call([{"x": 1}, {"x": 2}]) == [2, 4]
    served.eventually(lambda: outside.finished(asked.group, asked.requests))
    served.eventually(lambda: served.worker()["totals"]["answered"] == 201 and served.lag() == 0)
    worker = served.worker()
    assert (worker["state"], worker["in_flight"], worker["sink"]["state"]) == ("ready", 0, "ok")
    assert worker["totals"] == {"records": 0, "scored": 0, "dead_letters": 0, "answered": 201}
    assert [at["topic"] for at in worker["partitions"]] == [asked.requests]
    assert worker["ages_s"]["poll"] < 10
    assert worker["ages_s"]["oldest_unfinished"] is None
    assert served.metric("pelton_answers_total") == 201
    assert served.labels("pelton_lag_records", "topic") == [asked.requests]
    code, found = doctor(served.config)
    assert (code, [each for each in found if each[0] == "error"]) == (0, [])
    assert served.stop() == 0
    assert outside.members(asked.group) == set()
    assert "Traceback" not in served.log_text()


def test_b10_stopped_in_mid_batch_it_answers_that_and_after_a_second_signal_nothing(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside, hold: Hold
) -> None:
    asked = desk_alone(serve, topic_factory, outside, drain_s=10, batch={"max_size": 4})
    records = stop_in_mid_batch(asked, hold)
    again = Desk(serve(settings=asked.served.settings), outside)
    again.served.eventually(lambda: again.answers(*records))
    again.served.eventually(lambda: outside.finished(asked.group, asked.requests))
    _stopped_twice(again, outside, Hold(hold.folder))


def _stopped_twice(asked: Desk, outside: Outside, hold: Hold) -> None:
    """A request whose batch does not end is left for the next worker, and nobody waits for it."""
    stuck = asked.record({"x": 1, "hold": hold.file})
    before = outside.committed(asked.group, asked.requests)
    outside.send(asked.requests, stuck)
    asked.served.eventually(hold.reached)
    asked.served.eventually(lambda: asked.served.age_s("batch") > COMMITS_S)
    asked.served.tell(signal.SIGTERM)
    asked.served.eventually(lambda: any("waiting" in line for line in asked.served.log("draining")))
    assert asked.served.stop(signal.SIGTERM, within_s=4) == 0
    assert outside.committed(asked.group, asked.requests) == before
    assert asked.answers(stuck) == []
    assert outside.members(asked.group) == set()


@pytest.mark.timeout(120)
def test_b03_a_request_that_kills_the_process_is_told_so_and_costs_no_other_its_answer(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside
) -> None:
    asked = desk_alone(
        serve,
        topic_factory,
        outside,
        kafka={"session.timeout.ms": 1500},
        restart={"first_s": 0.05, "max_s": 0.1},
    )
    culprit = asked.record({"x": 7, "die": "exit"})
    others = [asked.record({"x": x}) for x in range(20)]
    outside.send(asked.requests, *others[:10], culprit, *others[10:])
    answers = asked.served.eventually(lambda: asked.answers(*others, culprit), within_s=60)
    assert {told(answer[-1])["code"] for answer in answers[:-1]} == {"ok"}
    assert told(answers[-1][-1])["code"] == "model_error"
    asked.served.until_ready()
    assert sum(state == "restarting" for state in asked.served.states()) == 3
