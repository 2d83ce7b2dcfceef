"""The edge: every code of librdkafka becomes one of our errors, and says whether to try again."""

import re
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from pelton.errors import (
    AccessDenied,
    BrokerUnavailable,
    DeliveryFailed,
    Fenced,
    KafkaFailure,
    TopicMissing,
)
from pelton.kafka_errors import RECORD_FAULTS, SIZE_FAULTS, ErrorLog, client_error, failure

CODES = {
    name: code
    for name in dir(KafkaError)
    if re.fullmatch(r"_?[A-Z][A-Z_]+", name) and isinstance(code := getattr(KafkaError, name), int)
}


def expected(name: str) -> type[KafkaFailure] | None:
    """What a name says to whoever reads it; None where it says nothing clear."""
    if "AUTHORIZATION_FAILED" in name or "AUTHENTICATION" in name or name == "_SSL":
        return AccessDenied
    if re.search("UNKNOWN_(TOPIC|PARTITION)", name):
        return TopicMissing
    if name in {"_FENCED", "FENCED_INSTANCE_ID", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}:
        return Fenced
    if re.search("^(BROKER|COORDINATOR|LEADER)_NOT_AVAILABLE|^NOT_(LEADER|COORDINATOR|ENOUGH_REPLICAS)", name):
        return BrokerUnavailable
    if re.search("BROKERS_DOWN|TRANSPORT|^NETWORK|REQUEST_TIMED_OUT", name):
        return BrokerUnavailable
    return None


def test_there_are_codes_to_map() -> None:
    assert len(CODES) > 150
    assert {"_TRANSPORT", "UNKNOWN_TOPIC_OR_PART", "_FATAL"} <= set(CODES)


@pytest.mark.parametrize("name", sorted(CODES))
def test_every_code_becomes_one_of_our_errors(name: str) -> None:
    ours = failure(KafkaError(CODES[name], "the reason"))
    assert isinstance(ours, KafkaFailure)
    assert "the reason" in str(ours)
    if kind := expected(name):
        assert type(ours) is kind
    if type(ours) is KafkaFailure:
        assert name in str(ours)
    raised = failure(KafkaException(KafkaError(CODES[name], "the reason")))
    assert (type(raised), str(raised)) == (type(ours), str(ours))


@pytest.mark.parametrize("code", [-9999, 9999])
def test_a_code_of_a_newer_client_does_too(code: int) -> None:
    assert type(failure(KafkaError(code, "news"))) is KafkaFailure


@pytest.mark.parametrize("name", ["_TRANSPORT", "UNKNOWN_TOPIC_OR_PART", "SASL_AUTHENTICATION_FAILED"])
def test_what_can_succeed_later_is_retriable(name: str) -> None:
    assert failure(KafkaError(CODES[name])).retriable


@pytest.mark.parametrize("name", ["FENCED_INSTANCE_ID", "MSG_SIZE_TOO_LARGE", "ILLEGAL_GENERATION"])
def test_what_cannot_is_not(name: str) -> None:
    assert not failure(KafkaError(CODES[name])).retriable


def test_what_ends_a_producer_is_a_failed_delivery() -> None:
    assert type(failure(KafkaError(CODES["OUT_OF_ORDER_SEQUENCE_NUMBER"], "gap", fatal=True))) is DeliveryFailed


def test_an_exception_without_a_kafka_error_keeps_its_words() -> None:
    ours = failure(KafkaException("no answer"))
    assert (type(ours), str(ours)) == (KafkaFailure, "no answer")


def test_b28_faults_of_one_record_are_told_from_faults_of_the_broker() -> None:
    names = {name for name, code in CODES.items() if code in RECORD_FAULTS}
    assert {"MSG_SIZE_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP", "RECORD_LIST_TOO_LARGE"} <= names
    assert not names & {"_TRANSPORT", "NOT_ENOUGH_REPLICAS", "TOPIC_AUTHORIZATION_FAILED", "_MSG_TIMED_OUT", "_FATAL"}
    assert {name for name, code in CODES.items() if code in SIZE_FAULTS} == {
        "MSG_SIZE_TOO_LARGE",
        "INVALID_MSG_SIZE",
        "RECORD_LIST_TOO_LARGE",
    }


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Log:
    """A log whose lines are written down."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def warning(self, event: str, **fields: Any) -> None:
        assert event == "kafka_error"
        self.lines.append(fields)


def test_b40_a_complaint_that_comes_again_and_again_is_logged_once_in_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, log = Clock(), Log()
    monkeypatch.setattr("pelton.deadline.time", clock)
    monkeypatch.setattr("pelton.kafka_errors.log", log)
    down, denied = KafkaError(CODES["_TRANSPORT"], "down"), KafkaError(CODES["_AUTHENTICATION"], "denied")
    errors = ErrorLog("consumer")
    for _ in range(100):
        errors.warn(down)
    errors.warn(denied)
    errors.warn(down, "in")
    clock.now_s += 60.0
    errors.warn(down)
    errors.warn(denied)
    assert log.lines == [
        {"client": "consumer", "error": "_TRANSPORT", "reason": "down"},
        {"client": "consumer", "error": "_AUTHENTICATION", "reason": "denied"},
        {"client": "consumer", "error": "_TRANSPORT", "reason": "down", "topic": "in"},
        {"client": "consumer", "error": "_TRANSPORT", "reason": "down", "repeated": 99},
        {"client": "consumer", "error": "_AUTHENTICATION", "reason": "denied"},
    ]


def test_b60_a_fenced_member_is_known_by_the_text_of_its_fatal_error() -> None:
    text = "Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id: Fatal error"
    assert type(failure(KafkaError(KafkaError._FATAL, text, fatal=True))) is Fenced
    assert type(failure(KafkaError(KafkaError._FATAL, "Fatal error: something else", fatal=True))) is DeliveryFailed


def test_the_clients_error_is_found_in_what_python_made_of_it() -> None:
    error = KafkaError(KafkaError._FENCED, "fenced", fatal=True)
    turned = SystemError("returned a result with an exception set")
    turned.__cause__ = KafkaException(error)
    assert [client_error(raised) for raised in (KafkaException(error), turned)] == [error, error]
    assert client_error(SystemError("returned NULL without setting an exception")) is None
