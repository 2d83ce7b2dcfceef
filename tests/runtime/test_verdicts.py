"""What each error of a transaction means: by the client's flags first, else by a table that knows its codes."""

import pytest
from confluent_kafka import KafkaError

from pelton.verdicts import MEANING, OF_THE_GROUP, OF_THE_ID, Verdict, judge, why

# Written down from the documentation of the transactional calls, not from the table under test.
RETRY = (
    *("_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_WAIT_COORD", "_PREV_IN_PROGRESS"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"),
    *("NETWORK_EXCEPTION", "REQUEST_TIMED_OUT", "NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE"),
    *("BROKER_NOT_AVAILABLE", "UNSTABLE_OFFSET_COMMIT"),
)
GROUP = (
    *("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH"),
    *("FENCED_MEMBER_EPOCH", "REBALANCE_IN_PROGRESS"),
)
ABORT = (
    *GROUP,
    *("TRANSACTION_ABORTABLE", "_INCONSISTENT", "_MSG_TIMED_OUT", "_STATE", "INVALID_PRODUCER_ID_MAPPING"),
    "UNKNOWN_PRODUCER_ID",
)
ID = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
FATAL = (
    *ID,
    *("_FATAL", "INVALID_TXN_STATE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    *("CLUSTER_AUTHORIZATION_FAILED", "INVALID_TRANSACTION_TIMEOUT", "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
)
VERDICTS = [
    *((name, Verdict.RETRY) for name in RETRY),
    *((name, Verdict.ABORT) for name in ABORT),
    *((name, Verdict.FATAL) for name in FATAL),
]


@pytest.mark.parametrize(("name", "verdict"), VERDICTS)
def test_b21_every_code_has_its_verdict_and_a_sentence(name: str, verdict: Verdict) -> None:
    error = KafkaError(getattr(KafkaError, name), "the client's own words")
    assert judge(error) is verdict
    assert len(why(error)) > 20
    assert why(error) != "the client's own words"


def test_b21_the_table_holds_these_codes_and_no_others_each_with_its_own_sentence() -> None:
    listed = {verdict: {KafkaError(code).name() for code in MEANING[verdict]} for verdict in Verdict}
    assert listed == {Verdict.RETRY: {*RETRY}, Verdict.ABORT: {*ABORT}, Verdict.FATAL: {*FATAL}}
    by_code = [sentence for sentences in MEANING.values() for sentence in sentences.values()]
    assert all(sentence.strip() == sentence and not sentence.endswith(".") for sentence in by_code)
    assert sum(map(len, MEANING.values())) == len(VERDICTS)
    told_alike = {sentence for sentence in by_code if by_code.count(sentence) > 1}
    assert told_alike == {"the group has given this member up"}, "two codes of the two group protocols mean the same"


@pytest.mark.parametrize("name", [RETRY[0], ABORT[0], FATAL[0], "UNKNOWN_TOPIC_OR_PART"])
@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        ({"fatal": True}, Verdict.FATAL),
        ({"fatal": True, "txn_requires_abort": True, "retriable": True}, Verdict.FATAL),
        ({"txn_requires_abort": True}, Verdict.ABORT),
        ({"txn_requires_abort": True, "retriable": True}, Verdict.ABORT),
        ({"retriable": True}, Verdict.RETRY),
    ],
)
def test_b21_the_clients_own_flags_come_before_the_table(name: str, flags: dict[str, bool], verdict: Verdict) -> None:
    assert judge(KafkaError(getattr(KafkaError, name), "why", **flags)) is verdict


def test_b21_a_code_that_nobody_knows_ends_the_producer_and_speaks_for_itself() -> None:
    error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic or partition")
    assert judge(error) is Verdict.FATAL
    assert why(error) == "Broker: Unknown topic or partition"


def test_b20_b60_refusals_of_the_group_and_of_the_id_are_told_apart() -> None:
    assert {KafkaError(code).name() for code in OF_THE_GROUP} == {*GROUP}
    assert {KafkaError(code).name() for code in OF_THE_ID} == {*ID}
    assert all(judge(KafkaError(code)) is Verdict.ABORT for code in OF_THE_GROUP)
    assert all(judge(KafkaError(code)) is Verdict.FATAL for code in OF_THE_ID)
    assert not OF_THE_GROUP & OF_THE_ID
