"""From a request to its end: answers, errors, deadlines, cancels, strangers and break-downs."""

import time
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.deadline import Deadline
from pelton.errors import (
    AccessDenied,
    BrokerUnavailable,
    CallCancelled,
    CallExpired,
    ClientClosed,
    InvalidRequest,
    KafkaFailure,
    SettingsError,
    TopicMissing,
    UnreadableReply,
)
from pelton.producers.request_body import encode_request
from pelton.schemas.codes import CODES, Code
from pelton.schemas.request import read_head

from .caller import Caller, int32

DENIED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not allowed")
FATAL = KafkaError(KafkaError.INVALID_PRODUCER_EPOCH, "fenced", fatal=True)


def test_a_call_is_written_as_spring_kafka_would_and_answered() -> None:
    caller = Caller(replies=3, reply_partition=2)
    before_ms = time.time() * 1000
    call = caller.call({"x": 1}, deadline_s=2.0, traceparent=b"00-1-2-01")
    (request,) = caller.requests(call)
    headers = dict(request.headers())
    assert request.value() == b'{"inputs":{"x":1}}'
    assert request.key() == headers["kafka_correlationId"] == call.id
    assert (headers["kafka_replyTopic"], headers["kafka_replyPartition"]) == (b"replies", int32(2))
    assert before_ms + 1999 <= int(headers["pelton-deadline"]) <= time.time() * 1000 + 2001
    assert headers["traceparent"] == b"00-1-2-01"
    caller.reply(call.id, {"code": "ok", "data": [0.25], "trace_id": ""}, partition=2)
    assert caller.data(call) == [0.25]
    assert caller.board.counts().pending == 0


def test_calls_of_a_key_keep_it() -> None:
    caller = Caller()
    call = caller.call(key=b"customer-7")
    assert caller.requests(call)[0].key() == b"customer-7"


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_every_code_becomes_an_error_that_is_as_retriable(code: Code) -> None:
    caller = Caller(repeats=0)
    call = caller.call()
    caller.refuse(call, code)
    error = caller.error(call)
    assert (getattr(error, "code", None), getattr(error, "trace_id", None)) == (code, "t-9")
    assert error.retriable is CODES[code].retriable
    assert "no" in str(error)


@pytest.mark.parametrize("value", [b"", b"{", b"[1]", b'{"code":"maybe"}'])
def test_what_is_no_reply_ends_the_call_it_was_meant_for(value: bytes) -> None:
    caller = Caller()
    call = caller.call()
    caller.reply(call.id, value)
    assert isinstance(caller.error(call), UnreadableReply)


def test_b37_the_caller_hears_at_its_deadline() -> None:
    caller = Caller(repeats=0)
    call = caller.call(deadline_s=3.0)
    caller.pass_time(2.98)
    assert call.id not in caller.ended
    caller.pass_time(0.05)
    assert isinstance(caller.error(call), CallExpired)
    assert "within 3 s" in str(caller.error(call))
    assert caller.board.counts().expired == 1


@pytest.mark.parametrize("deadline_s", [0.0, -1.0, 600.1, float("nan"), float("inf")])
def test_a_deadline_has_bounds(deadline_s: float) -> None:
    with pytest.raises(SettingsError, match="deadline_s"):
        Caller().call(deadline_s=deadline_s)
    with pytest.raises(SettingsError, match="deadline_s"):
        Caller(deadline_s=deadline_s)


@pytest.mark.parametrize("priority", [0, 3, 9])
def test_a_priority_goes_along_as_a_digit(priority: int) -> None:
    caller = Caller()
    (request,) = caller.requests(caller.call(priority=priority))
    assert dict(request.headers())["pelton-priority"] == b"%d" % priority


@pytest.mark.parametrize("priority", [-1, 10, 2.5, None, "9"])
def test_a_priority_has_bounds(priority: Any) -> None:
    with pytest.raises(SettingsError, match="priority"):
        Caller().call(priority=priority)


def test_without_a_word_a_call_waits_ten_seconds() -> None:
    caller = Caller(repeats=0)
    call = caller.call()
    caller.pass_time(9.98)
    assert call.id not in caller.ended
    caller.pass_time(0.05)
    assert isinstance(caller.error(call), CallExpired)


def test_b35_strangers_and_latecomers_are_counted_and_nobody_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    caller, other = Caller(repeats=0), Caller()
    mine, theirs = caller.call(deadline_s=1.0), other.call()
    caller.reply(theirs.id, {"code": "ok", "data": 1})
    caller.reply(None, {"code": "ok", "data": 2})
    caller.reply(b"", b"\xff")
    caller.pass_time(1.1)
    caller.score(mine, 3)
    counts = caller.board.counts()
    assert (counts.foreign, counts.late, counts.expired, counts.answered) == (3, 1, 1, 0)
    assert caller.told == [mine.id]
    assert capsys.readouterr() == ("", "")


def test_b35_ids_are_unique_over_clients_and_calls() -> None:
    callers = [Caller() for _ in range(20)]
    ids = [caller.call().id for caller in callers for _ in range(50)]
    assert len(set(ids)) == 1000
    assert {len(each) for each in ids} == {16}


def test_what_was_answered_before_the_start_is_not_read_and_all_after_it_is() -> None:
    caller = Caller(before=3)
    caller.reply(b"another", b"")
    assert caller.board.counts().foreign == 1


def test_b38_a_call_taken_back_is_cancelled_on_the_other_side_too() -> None:
    caller = Caller()
    call = caller.call(key=b"k")
    caller.board.cancel(call)
    caller.turn()
    (cancel,) = caller.requests(call, cancels=True)
    assert (cancel.key(), cancel.value()) == (b"k", None)
    asked_in, cancelled_in = (read_head(each.headers()) for each in (caller.requests(call)[0], cancel))
    assert cancelled_in.reply_topic == asked_in.reply_topic == "replies"
    assert cancelled_in.reply_partition == asked_in.reply_partition == 0
    assert cancel.partition() == caller.requests(call)[0].partition()
    assert isinstance(caller.error(call), CallCancelled)
    caller.board.cancel(call)
    caller.score(call, 1)
    assert caller.told == [call.id]
    assert (caller.board.counts().cancelled, caller.board.counts().late, caller.board.counts().pending) == (1, 1, 0)


def test_b28_too_large_for_the_producer_is_refused_at_once() -> None:
    caller = Caller()
    with pytest.raises(InvalidRequest) as refused:
        caller.call("x" * 1_100_000)
    assert refused.value.code == "too_large"
    assert caller.board.counts().pending == 0


def test_b28_too_large_for_the_topic_fails_that_call_and_no_other() -> None:
    caller = Caller(requests=1)
    caller.kafka.max_bytes["requests"] = 1000
    small, call, other = (caller.board.begin(encode_request(x), None) for x in (1, "x" * 2000, 2))
    for each in (small, call, other):
        assert caller.board.send(each)
    caller.pass_time(0.1)
    assert [len(caller.requests(each)) for each in (small, call, other)] == [1, 0, 1]
    assert isinstance(caller.error(call), InvalidRequest)
    assert getattr(caller.error(call), "code", None) == "too_large"


def test_b46_a_full_queue_asks_to_wait_and_fails_nobody() -> None:
    caller = Caller(kafka={"bootstrap.servers": "none", "queue.buffering.max.messages": 2})
    caller.kafka.stalled = {("requests", partition) for partition in range(4)}
    calls = [caller.board.begin(b"1", None) for _ in range(3)]
    assert [caller.board.send(call) for call in calls] == [True, True, False]
    caller.kafka.stalled = set()
    caller.turn()
    assert caller.board.send(calls[2])
    caller.turn()
    assert [len(caller.requests(call)) for call in calls] == [1, 1, 1]


def test_a_request_that_cannot_be_delivered_fails_its_caller_with_the_cause() -> None:
    caller = Caller()
    caller.kafka.refuse = lambda _: DENIED
    call = caller.call()
    caller.turn()
    assert isinstance(caller.error(call), AccessDenied)
    assert not caller.board.counts().pending


def test_a_producer_that_is_dead_fails_everyone_at_once_and_for_good() -> None:
    caller = Caller()
    calls = [caller.call() for _ in range(3)]
    caller.kafka.producers[0].break_down(FATAL)
    caller.turn()
    errors = [caller.error(call) for call in calls]
    assert {type(error) for error in errors} <= {KafkaFailure, *KafkaFailure.__subclasses__()}
    assert len({id(error) for error in errors}) == 3
    with pytest.raises(KafkaFailure):
        caller.call()


def test_a_reader_that_may_not_read_fails_everyone_at_once_and_goes_on() -> None:
    caller = Caller()
    calls = [caller.call() for _ in range(3)]
    caller.kafka.consumers[0].fail(DENIED, "replies", 0)
    caller.turn()
    caller.turn()
    assert all(isinstance(caller.error(call), AccessDenied) for call in calls)
    later = caller.call()
    caller.score(later, 5)
    assert caller.data(later) == 5


def test_an_expired_call_quotes_kafka_but_no_old_story() -> None:
    caller = Caller(repeats=0)
    caller.kafka.producers[0].config["error_cb"](KafkaError(KafkaError._ALL_BROKERS_DOWN, "all down"))
    caller.pass_time(0.1)
    quiet, told = caller.call(deadline_s=1.0), caller.call(deadline_s=3.0)
    caller.pass_time(2.0)
    caller.kafka.producers[0].config["error_cb"](KafkaError(KafkaError._TRANSPORT, "cable cut"))
    caller.pass_time(2.0)
    assert str(caller.error(quiet)) == "no answer within 1 s"
    assert str(caller.error(told)) == "no answer within 3 s; Kafka's last word: cable cut"


def test_a_broker_that_is_away_for_a_while_fails_nobody() -> None:
    caller = Caller()
    call = caller.call()
    caller.kafka.consumers[0].fail(KafkaError(KafkaError._ALL_BROKERS_DOWN, "down"))
    caller.pass_time(0.1)
    caller.score(call, 1)
    assert caller.data(call) == 1


def test_b10_close_fails_what_has_no_answer_and_takes_it_back() -> None:
    caller = Caller()
    call = caller.call()
    caller.board.close(0.0)
    assert isinstance(caller.error(call), ClientClosed)
    assert len(caller.requests(call, cancels=True)) == 1
    with pytest.raises(ClientClosed):
        caller.board.begin(b"1", None)
    caller.board.close(0.0)


def test_b10_a_call_that_begins_while_the_client_closes_is_refused_and_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody would look after it any more: on an event loop it would never end."""
    caller = Caller()
    begin = caller.board._book.open

    def closed_meanwhile(*arguments: Any) -> None:
        caller.board.close(0.0)
        begin(*arguments)

    monkeypatch.setattr(caller.board._book, "open", closed_meanwhile)
    with pytest.raises(ClientClosed):
        caller.board.begin(b"1", None)
    assert caller.board.counts().pending == 0


def test_answers_of_aborted_transactions_are_none() -> None:
    (consumer,) = Caller().kafka.consumers
    assert consumer.config["isolation.level"] == "read_committed"


def test_topics_that_are_missing_are_named_at_the_start() -> None:
    with pytest.raises(TopicMissing, match="no-such"):
        Caller(topics={"requests": "no-such"})
    with pytest.raises(TopicMissing, match="nowhere"):
        Caller(topics={"replies": "nowhere"})
    with pytest.raises(SettingsError, match="none is 7"):
        Caller(reply_partition=7)


def test_no_broker_at_the_start_is_said() -> None:
    caller = Caller()
    caller.kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        caller.board.connect(Deadline.after(0.1))
