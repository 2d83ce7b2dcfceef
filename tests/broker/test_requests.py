"""Questions over a real Kafka: who is answered, what, and at what cost to the model."""

import json
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from pelton.errors import CallExpired, InvalidRequest, ModelFailed

from .answered import start
from .asked import Calls, Desk, desk, told
from .conftest import Serve
from .outside import Hold, Outside, Record, event

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(scope="module")
def asked(serve_here: Serve, topic_factory: Callable[..., str], outside: Outside) -> Desk:
    """A served model, for all tests here."""
    return desk(serve_here, topic_factory, outside, batch={"max_size": 8})


def test_a_client_is_answered_beside_the_stream(asked: Desk, outside: Outside) -> None:
    sent = outside.send(asked.served.source, *(Record(event(x)) for x in range(500)))
    with asked.client() as client:
        assert client.call({"x": 21}) == 42
        assert client.call([{"x": 1}, {"x": 2}, {"x": 3}]) == [2, 4, 6]
        assert client.call_many({"x": x} for x in range(1000)) == [2 * x for x in range(1000)]
        assert client.counts().pending == 0
    asked.served.eventually(lambda: outside.finished(asked.served.group, asked.served.source))
    scores = outside.scores(asked.served.sink)
    assert [scores[at] for at in sent] == [[2 * x] for x in range(500)]
    asked.served.eventually(lambda: outside.finished(asked.group, asked.requests))


def test_answers_are_what_spring_kafka_reads_byte_for_byte(asked: Desk) -> None:
    call_id = uuid.UUID("00ff10ee-20dd-30cc-40bb-50aa60990088").bytes
    spring = {"__TypeId__": b"com.example.Payment", "spring_json_header_types": b"{}", "\u00e9": b"\xff"}
    traced = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01".encode(), **spring}
    plain, anywhere = asked.record({"x": 21}, call_id, more=spring), asked.record({"x": 4}, reply_partition=None)
    to_three = asked.record({"x": 1}, reply_partition=3, more=traced)
    [first], [second], [third] = asked.ask(plain, anywhere, to_three)
    assert first.headers() == [("kafka_correlationId", bytes.fromhex("00ff10ee20dd30cc40bb50aa60990088"))]
    assert (first.partition(), first.key()) == (2, None)
    assert first.value() == b'{"code":"ok","data":42.0,"trace_id":"00ff10ee20dd30cc40bb50aa60990088"}'
    assert told(second)["data"] == 8
    assert (third.partition(), told(third)["trace_id"]) == (3, TRACE)
    assert dict(third.headers())["traceparent"] == traced["traceparent"]


def test_b37_who_has_given_up_costs_no_model_call(asked: Desk, tmp_path: Path, hold: Hold) -> None:
    calls, began_s = Calls(tmp_path), time.monotonic()
    with asked.client(repeats=0) as client:
        held = client.submit({"x": 1, "hold": hold.file})
        asked.served.eventually(hold.reached)
        futures = [client.submit({"x": x, "hold": calls.file}, deadline_s=1.0) for x in range(30)]
        wait(futures, 20)
        assert [type(future.exception(0)) for future in futures] == [CallExpired] * 30
        assert not held.done()
        asked.served.eventually(lambda: time.monotonic() - began_s > 2.0)  # by the worker's clock too
        hold.release()
        assert held.result(20) == 2
        asked.served.eventually(lambda: client.counts().late == 30)
    assert len(calls) == 0
    (late,) = asked.ask(asked.record({"x": 1, "hold": calls.file}, deadline_s=-1))
    assert told(late[0])["code"] == "expired"
    assert len(calls) == 0


def test_b38_what_is_taken_back_is_left_out_and_the_others_are_answered(
    asked: Desk, tmp_path: Path, hold: Hold
) -> None:
    gone, kept, cancels = Calls(tmp_path), Calls(tmp_path), asked.served.metric("pelton_cancels_total")
    with asked.client() as client:
        held = client.submit({"x": 1, "hold": hold.file})
        asked.served.eventually(hold.reached)
        futures = [client.submit({"x": x, "hold": (gone if x < 3 else kept).file}) for x in range(8)]
        assert all(future.cancel() for future in futures[:3])
        asked.served.eventually(lambda: asked.served.metric("pelton_cancels_total") == cancels + 3)
        hold.release()
        assert [future.result(20) for future in futures[3:]] == [6, 8, 10, 12, 14]
        assert held.result(20) == 2
    assert (len(gone), len(kept)) == (0, 5)


def test_the_most_urgent_of_those_that_queue_are_answered_first(asked: Desk, hold: Hold) -> None:
    answered: list[int] = []
    with asked.client() as client:
        held = client.submit({"x": 1, "hold": hold.file})
        asked.served.eventually(hold.reached)
        futures = [client.submit({"x": x}, priority=x % 3 + 3) for x in range(24)]
        for x, future in enumerate(futures):
            future.add_done_callback(lambda _, x=x: answered.append(x))
        asked.served.eventually(lambda: asked.served.metric("pelton_queue_records") == 24)
        hold.release()
        assert [future.result(20) for future in [held, *futures]] == [2, *range(0, 48, 2)]
    assert [x % 3 for x in answered] == [2] * 8 + [1] * 8 + [0] * 8


def test_b44_a_repeat_gets_the_same_bytes_and_is_computed_once(asked: Desk, tmp_path: Path) -> None:
    calls, repeats = Calls(tmp_path), asked.served.metric("pelton_repeats_total")
    question = asked.record({"x": 7, "hold": calls.file})
    ((first,),) = asked.ask(question)
    first_again, again = asked.ask(question, question)[0][:2]
    assert first.value() == first_again.value() == again.value()
    at_once = [asked.record({"x": 8, "hold": calls.file}, uuid.uuid4().bytes)] * 10
    asked.outside.send(asked.requests, *at_once)
    asked.served.eventually(lambda: asked.served.metric("pelton_repeats_total") == repeats + 11)
    asked.served.eventually(lambda: asked.outside.finished(asked.group, asked.requests))
    (answers,) = asked.answers(at_once[0])  # those that came while it was computed share one
    assert told(answers[0])["data"] == 16
    assert {answer.value() for answer in answers} == {answers[0].value()}
    assert len(calls) == 2
    other = asked.record({"x": 9, "hold": calls.file}, dict(question.headers)["kafka_correlationId"])
    asked.outside.send(asked.requests, other)
    *_, clash = asked.served.eventually(lambda: asked.answers(*[other] * 4))[0]
    assert told(clash)["code"] == "invalid"
    assert len(calls) == 2


def test_answers_for_nowhere_are_counted_and_hold_nobody_up(asked: Desk, tmp_path: Path) -> None:
    calls, before = Calls(tmp_path), [asked.ends(name) for name in ("no_topic", "forbidden")]
    lost = [
        asked.record({"x": 1}, reply_topic="gone-for-good"),
        asked.record({"x": 1}, reply_partition=99),
        asked.record({"x": 1, "hold": calls.file}, reply_topic=asked.served.sink),
    ]
    asked.outside.send(asked.requests, *lost)
    answers = asked.ask(*(asked.record({"x": x}) for x in range(20)))
    assert [told(answer)["data"] for (answer,) in answers] == list(range(0, 40, 2))
    asked.served.eventually(lambda: asked.ends("no_topic") == before[0] + 2)
    assert asked.ends("forbidden") == before[1] + 1
    asked.served.eventually(lambda: asked.outside.finished(asked.group, asked.requests))
    assert (len(calls), "gone-for-good" in asked.outside.admin.list_topics(timeout=20).topics) == (0, False)


def test_answers_for_a_topic_that_was_deleted_are_given_up_before_they_make_the_worker_unready(
    asked: Desk, outside: Outside, topic_factory: Callable[..., str]
) -> None:
    gone = topic_factory(1, prefix="gone-")
    outside.send(asked.requests, asked.record({"x": 1}, reply_topic=gone, reply_partition=0))
    asked.served.eventually(lambda: outside.read(gone))
    outside.delete(gone)
    before = asked.ends("failed")
    outside.send(asked.requests, *(asked.record({"x": x}, reply_topic=gone, reply_partition=0) for x in range(3)))
    # Unready is who has delivered nothing for `sink_failing_s`, 10 s.
    asked.served.eventually(lambda: asked.ends("failed") == before + 3, within_s=10.0)
    asked.served.eventually(lambda: outside.finished(asked.group, asked.requests))


def test_b02_one_that_cannot_be_scored_never_fails_its_batch(asked: Desk, hold: Hold) -> None:
    with asked.client() as client:
        held = client.submit({"x": 1, "hold": hold.file})
        asked.served.eventually(hold.reached)
        wishes: dict[int, dict[str, Any]] = {2: {"x": "abc"}, 5: {"raises": "only here"}}
        futures = [client.submit({"x": x, **wishes.get(x, {})}) for x in range(8)]
        asked.served.eventually(lambda: asked.served.metric("pelton_queue_records") == 7)
        hold.release()
        assert held.result(20) == 2
        worse, bad = futures.pop(5), futures.pop(2)
        assert [future.result(20) for future in futures] == [0, 2, 6, 8, 12, 14]
        with pytest.raises(InvalidRequest, match="x"):
            bad.result(20)
        with pytest.raises(ModelFailed) as failed:
            worse.result(20)
        assert "only here" not in str(failed.value)  # the inside of a model is nobody's business


def test_b12_what_is_not_finite_is_an_error_in_strict_json(asked: Desk) -> None:
    texts = [b"NaN", b"Infinity", b"1e400", b"-1e400", b"1e39", b"2.5"]
    values = [b'{"inputs":{"x":%s}}' % text for text in texts]
    many = b'{"inputs":[{"x":1},{"x":1e39}]}'
    answers = asked.ask(*(asked.record(None, value=value) for value in (*values, many)))
    codes = [told(answer)["code"] for (answer,) in answers]
    assert codes == ["not_finite"] * 5 + ["ok", "not_finite"]
    assert told(answers[5][0])["data"] == 5


def test_b28_an_answer_too_large_for_its_topic_is_that_callers_affair(asked: Desk) -> None:
    with asked.client() as client:
        events = [{"x": x, **({"letters": 1_500_000} if x == 4 else {})} for x in range(10)]
        answers = client.call_many(events, return_errors=True)
    large = answers.pop(4)
    assert (type(large), large.code) == (InvalidRequest, "too_large")
    assert answers == [0, 2, 4, 6, 10, 12, 14, 16, 18]


def test_what_is_no_question_is_told_why(asked: Desk) -> None:
    values = [b"", b"{", b"[1]", b'{"inputs": []}', json.dumps({"inputs": {"x": 1}, "model": "other"}).encode()]
    answers = asked.ask(*(asked.record(None, value=value) for value in values))
    codes = [told(answer)["code"] for (answer,) in answers]
    assert codes == ["malformed", "malformed", "malformed", "invalid", "unknown_model"]


def test_b35_clients_share_a_reply_topic_while_one_is_killed_and_comes_back(asked: Desk, outside: Outside) -> None:
    mine: list[Any] = []
    with asked.client(reply_partition=1) as client:
        asking = threading.Thread(target=lambda: mine.extend(client.call({"x": x}) for x in range(300)))
        asking.start()
        where = (outside.brokers, asked.requests, asked.replies, 10_000, 300, "x", 1)
        with start("calling.py", *where) as first:
            assert first.stdout is not None
            before = [first.stdout.readline().strip() for _ in range(100)]
            first.kill()
        with start("calling.py", *where) as second:
            *lines, _counts = second.communicate(timeout=50)[0].splitlines()
        asking.join(50)
        right = [f"{number} {2.0 * number}" for number in range(10_000, 10_300)]
        assert (before, lines) == (right[:100], right)
        assert mine == [2 * x for x in range(300)]
        assert (client.counts().pending, client.counts().failed) == (0, 0)
