"""One producer's transactions: their states, their time limits, and what each refusal means."""

import threading
from collections.abc import Callable
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from pelton.deadline import Deadline
from pelton.errors import AccessDenied, BrokerUnavailable, Fenced, KafkaFailure, ProducerLost, TransactionAborted
from pelton.producers import transaction as transaction_file
from pelton.producers.transaction import Transaction, TransactionState
from pelton.testing import FakeKafka

S = TransactionState
TIMEOUT_S = 10.0
FENCED = KafkaError(KafkaError._FENCED, "fenced", fatal=True)
ABORTABLE = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", txn_requires_abort=True)
LOADING = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "loading", retriable=True)
LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)


class Bench:
    """A transaction on a producer of Kafka in memory, and a member of the group `g` that owns `in/0`."""

    def __init__(self) -> None:
        self.kafka = FakeKafka({"in": 1, "out": 1})
        self.config = {"transactional.id": "t", "transaction.timeout.ms": int(TIMEOUT_S * 1000)}
        self.consumer = self.kafka.consumer({"group.id": "g"})
        self.consumer.subscribe(["in"])
        self.consumer.consume(1, 0)
        self.replace()

    def replace(self) -> None:
        self.producer = self.kafka.producer(self.config)
        self.transaction = Transaction(self.producer, TIMEOUT_S)

    def started(self) -> "Bench":
        self.transaction.start(Deadline.after(5))
        return self

    def produce(self, value: bytes) -> None:
        self.transaction.begin()
        self.producer.produce("out", value, partition=0)

    def commit(self, offset: int, within_s: float = 5.0) -> None:
        member = self.consumer.consumer_group_metadata()
        self.transaction.commit([TopicPartition("in", 0, offset)], member, Deadline.after(within_s))

    def fail(self, call: str, *errors: KafkaError) -> None:
        self.kafka.coordinator.fail(call, *errors)

    @property
    def values(self) -> list[Any]:
        return [message.value() for message in self.kafka.read("out")]

    @property
    def committed(self) -> int | None:
        found = self.kafka.committed("g", ("in", 0))
        return found and found.offset

    @property
    def calls(self) -> list[str]:
        return [name for name, _ in self.kafka.coordinator.calls]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """`clock(9.5)` lets so many seconds pass for the transaction alone."""
    now_s = [1000.0]
    monkeypatch.setattr(transaction_file, "time", SimpleNamespace(monotonic=lambda: now_s[0]))

    def advance(seconds: float) -> None:
        now_s[0] += seconds

    return advance


LEGAL = {
    (S.NEW, S.IDLE),  # the coordinator has given the id
    (S.IDLE, S.OPEN),  # the first output
    (S.OPEN, S.ENDING),  # the commit is asked for
    (S.ENDING, S.IDLE),  # and answered
    (S.OPEN, S.FAILED),  # a message or the offsets are refused
    (S.FAILED, S.IDLE),  # aborted
    *((state, S.DEAD) for state in S if state is not S.DEAD),
}


@pytest.mark.parametrize(("old", "new"), list(product(S, S)))
def test_b21_a_state_is_followed_by_no_other_than_these(bench: Bench, old: S, new: S) -> None:
    bench.transaction._state = old
    if (old, new) in LEGAL or old is new:
        bench.transaction._move(new)
        assert bench.transaction.state is new
        assert bench.transaction.in_doubt is ((old, new) == (S.ENDING, S.DEAD))
    else:
        with pytest.raises(AssertionError, match="cannot go"):
            bench.transaction._move(new)
        assert bench.transaction.state is old


def test_what_is_committed_is_seen_together_with_its_offset_and_nothing_before(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.producer.flush()
    assert (bench.values, bench.committed, bench.transaction.state) == ([], None, S.OPEN)
    bench.commit(1)
    assert (bench.values, bench.committed, bench.transaction.state) == ([b"1"], 1, S.IDLE)


def test_an_open_transaction_is_not_begun_twice_nor_one_before_the_id_is_held(bench: Bench) -> None:
    bench.transaction.begin()
    assert (bench.calls, bench.transaction.state) == ([], S.NEW)
    bench.started().transaction.begin()
    bench.transaction.begin()
    assert bench.calls == ["init_transactions", "begin_transaction"]


def test_an_aborted_transaction_leaves_nothing_and_the_next_one_is_like_any_other(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.producer.flush()
    bench.transaction.spoil()
    assert bench.transaction.state is S.FAILED
    bench.transaction.abort(Deadline.after(5))
    bench.produce(b"2")
    bench.commit(2)
    assert (bench.values, bench.committed) == ([b"2"], 2)


def test_nothing_is_aborted_where_nothing_is_open(bench: Bench) -> None:
    bench.transaction.abort(Deadline.after(5))
    bench.started()
    bench.transaction.spoil()
    bench.transaction.abort(Deadline.after(5))
    assert (bench.calls, bench.transaction.state) == (["init_transactions"], S.IDLE)


CALLS = ["init_transactions", "send_offsets_to_transaction", "commit_transaction", "abort_transaction"]


def reach(bench: Bench, call: str, within_s: float = 5.0) -> None:
    """Make the call of this name, after all that has to come before it."""
    if call == "init_transactions":
        bench.transaction.start(Deadline.after(within_s))
        return
    if bench.transaction.state is S.NEW:
        bench.started()
    if bench.transaction.state is S.IDLE:
        bench.produce(b"1")
    if call == "abort_transaction":
        bench.transaction.abort(Deadline.after(within_s))
    else:
        bench.commit(1, within_s)


@pytest.mark.parametrize("call", CALLS)
def test_b21_what_can_pass_in_a_moment_is_tried_again_within_the_deadline(bench: Bench, call: str) -> None:
    bench.fail(call, LOADING, LOADING)
    reach(bench, call)
    assert bench.calls.count(call) == 3
    assert bench.transaction.state is S.IDLE


@pytest.mark.parametrize("call", CALLS)
def test_b21_no_call_is_made_without_a_time_limit_and_none_beyond_the_deadline(bench: Bench, call: str) -> None:
    """`send_offsets_to_transaction` without one blocked for good while no broker was there."""
    if call != "init_transactions":
        bench.started()
        bench.kafka.coordinator.calls.clear()
    bench.fail(call, *[LOADING] * 1000)
    with pytest.raises(BrokerUnavailable, match="reading its log"):
        reach(bench, call, within_s=0.1)
    limits = [limit for name, limit in bench.kafka.coordinator.calls if name == call]
    assert len(limits) >= 2
    assert all(limit is not None and 0 < limit <= 0.1 for limit in limits)
    assert all(later <= earlier for earlier, later in pairwise(limits))


def test_b21_without_a_broker_a_commit_ends_by_its_deadline_and_succeeds_later(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.kafka.reachable = False
    for _ in range(2):
        with pytest.raises(BrokerUnavailable):
            bench.commit(1, within_s=0.01)
    assert (bench.values, bench.committed, bench.transaction.state) == ([], None, S.OPEN)
    bench.kafka.reachable = True
    bench.commit(1)
    assert (bench.values, bench.committed) == ([b"1"], 1)


def test_b21_a_commit_whose_answer_is_late_is_asked_again_and_happens_once(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.kafka.coordinator.lose("commit_transaction", LATE)
    bench.commit(1)
    assert bench.calls[-2:] == ["commit_transaction"] * 2
    assert (bench.values, bench.kafka.commits) == ([b"1"], [{("in", 0): 1}])


def test_b21_a_commit_that_was_asked_for_is_gone_on_with_though_positions_are_other_now(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.fail("commit_transaction", *[LATE] * 100)
    with pytest.raises(BrokerUnavailable):
        bench.commit(1, within_s=0.01)
    assert bench.transaction.state is S.ENDING
    bench.kafka.coordinator._failing.clear()
    bench.commit(7)
    assert (bench.committed, bench.calls.count("send_offsets_to_transaction")) == (1, 1)


def test_b21_what_cannot_be_committed_is_to_be_aborted_and_the_producer_goes_on(bench: Bench) -> None:
    bench.fail("send_offsets_to_transaction", ABORTABLE)
    with pytest.raises(TransactionAborted, match="asks for an abort") as refused:
        reach(bench, "send_offsets_to_transaction")
    assert not refused.value.of_the_group
    assert bench.transaction.state is S.FAILED
    bench.transaction.abort(Deadline.after(5))
    bench.produce(b"2")
    bench.commit(2)
    assert (bench.values, bench.committed) == ([b"2"], 2)


def test_b21_a_message_the_broker_refuses_leaves_nothing_but_an_abort(bench: Bench) -> None:
    bench.kafka.refuse = lambda _: KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large")
    bench.started()
    bench.produce(b"1")
    with pytest.raises(TransactionAborted):
        bench.commit(1)
    bench.transaction.abort(Deadline.after(5))
    assert (bench.transaction.state, bench.committed) == (S.IDLE, None)


def test_b20_a_member_that_the_group_has_left_behind_commits_nothing(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    stale = bench.consumer.consumer_group_metadata()
    bench.kafka.groups.move("g")
    with pytest.raises(TransactionAborted, match="group has moved on") as refused:
        bench.transaction.commit([TopicPartition("in", 0, 1)], stale, Deadline.after(5))
    assert refused.value.of_the_group
    bench.transaction.abort(Deadline.after(5))
    assert (bench.values, bench.committed) == ([], None)


@pytest.mark.parametrize("call", CALLS)
def test_b60_an_id_that_another_process_took_is_fenced_at_every_call(bench: Bench, call: str) -> None:
    if call == "init_transactions":
        bench.fail(call, FENCED)
    else:
        bench.started()
        bench.produce(b"0")
        bench.producer.flush()
        Transaction(bench.kafka.producer(bench.config), TIMEOUT_S).start(Deadline.after(5))
    with pytest.raises(Fenced):
        reach(bench, call)
    assert bench.transaction.state is S.DEAD
    assert (bench.values, bench.committed) == ([], None)


@pytest.mark.parametrize(
    ("age_s", "expected"), [(0.0, Fenced), (8.9, Fenced), (9.1, ProducerLost), (60.0, ProducerLost)]
)
def test_b21_b60_fenced_when_young_and_timed_out_when_old(
    bench: Bench, clock: Callable[[float], None], age_s: float, expected: type[KafkaFailure]
) -> None:
    """The coordinator fences a producer too whose transaction it gave up for time; nobody else is at play then."""
    bench.started()
    bench.produce(b"1")
    clock(age_s)
    bench.fail("commit_transaction", FENCED)
    with pytest.raises(expected):
        bench.commit(1)
    assert bench.transaction.state is S.DEAD


def test_b21_a_transaction_that_timed_out_is_replaced_by_a_producer_of_the_same_id(bench: Bench) -> None:
    now_s = [0.0]
    bench.kafka.coordinator.clock = lambda: now_s[0]
    bench.started()
    bench.produce(b"1")
    bench.producer.flush()
    now_s[0] = TIMEOUT_S + 1
    bench.transaction._began_s -= TIMEOUT_S + 1
    with pytest.raises(ProducerLost):
        bench.commit(1)
    bench.replace()
    bench.started()
    bench.produce(b"2")
    bench.commit(2)
    assert (bench.values, bench.committed) == ([b"2"], 2)


@pytest.mark.parametrize(
    ("call", "code", "flags", "state"),
    [
        ("init_transactions", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", {"fatal": True}, S.DEAD),
        ("send_offsets_to_transaction", "GROUP_AUTHORIZATION_FAILED", {"txn_requires_abort": True}, S.FAILED),
        ("commit_transaction", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", {"fatal": True}, S.DEAD),
    ],
)
def test_a_right_that_is_missing_is_told_as_that(bench: Bench, call: str, code: str, flags: Any, state: S) -> None:
    bench.fail(call, KafkaError(getattr(KafkaError, code), "no", **flags))

    def whole() -> None:
        bench.started()
        bench.produce(b"1")
        bench.commit(1)

    with pytest.raises(AccessDenied, match=code):
        whole()
    assert bench.transaction.state is state
    assert bench.values == []


def test_b60_a_fence_that_shows_while_messages_leave_is_a_fence_as_well(bench: Bench) -> None:
    """The client raises a fatal error out of whatever call serves it, a flush before the commit for one."""
    bench.started()
    bench.produce(b"1")
    bench.producer.flush()
    bench.producer.produce("out", b"2", partition=0)
    Transaction(bench.kafka.producer(bench.config), TIMEOUT_S).start(Deadline.after(5))
    with pytest.raises(Fenced):
        bench.commit(1)
    assert bench.transaction.state is S.DEAD
    assert bench.values == []


@pytest.mark.parametrize("happened", [True, False])
def test_b21_a_commit_that_is_refused_after_an_answer_was_lost_is_in_doubt(bench: Bench, happened: bool) -> None:
    """The first try may have succeeded: to abort and send again could be to send twice."""
    (bench.kafka.coordinator.lose if happened else bench.kafka.coordinator.fail)("commit_transaction", LATE)
    bench.started()
    bench.produce(b"1")
    with pytest.raises(BrokerUnavailable):
        bench.commit(1, within_s=0.0)
    bench.fail("commit_transaction", ABORTABLE)
    with pytest.raises(ProducerLost, match="asks for an abort"):
        bench.commit(1)
    assert bench.transaction.in_doubt
    bench.replace()
    bench.started()
    assert (bench.values, bench.committed) == (([b"1"], 1) if happened else ([], None))


@pytest.mark.parametrize("answered", [True, False])
def test_b21_a_producer_lost_between_question_and_answer_leaves_a_doubt(bench: Bench, answered: bool) -> None:
    lost = KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True)
    (bench.kafka.coordinator.lose if answered else bench.kafka.coordinator.fail)("commit_transaction", lost)
    bench.started()
    bench.produce(b"1")
    with pytest.raises(ProducerLost):
        bench.commit(1)
    assert bench.transaction.in_doubt
    bench.replace()
    bench.started()
    assert (bench.values, bench.committed) == (([b"1"], 1) if answered else ([], None))


def test_a_producer_lost_before_the_question_leaves_no_doubt(bench: Bench) -> None:
    bench.started()
    bench.produce(b"1")
    bench.fail("send_offsets_to_transaction", KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True))
    with pytest.raises(ProducerLost):
        bench.commit(1)
    assert not bench.transaction.in_doubt


def test_an_error_before_any_transaction_that_would_ask_for_an_abort_ends_the_producer(bench: Bench) -> None:
    bench.fail("init_transactions", KafkaError(KafkaError._STATE, "wrong state"))
    with pytest.raises(ProducerLost):
        bench.started()
    assert bench.transaction.state is S.DEAD


@pytest.mark.parametrize("kept", [True, False])
def test_b60_a_fatal_error_that_comes_up_within_a_delivery_report_is_not_lost(kept: bool) -> None:
    """Python makes a SystemError of it, since the report's call returns while an exception is set, or loses it."""
    fenced = KafkaException(FENCED)

    class Interrupted:
        begun = False

        def init_transactions(self, timeout_s: float) -> None: ...

        def begin_transaction(self) -> None:
            if self.begun:
                raise fenced
            self.begun = True

        def flush(self, timeout_s: float) -> int:
            raise SystemError("returned NULL without setting an exception") from (fenced if kept else None)

    transaction = Transaction(Interrupted(), TIMEOUT_S)  # type: ignore[arg-type]
    transaction.start(Deadline.after(1))
    transaction.begin()
    with pytest.raises(Fenced, match="another process took the transactional id"):
        transaction.commit([], None, Deadline.after(1))
    assert transaction.state is TransactionState.DEAD


def test_b21_a_call_that_does_not_come_back_costs_its_producer_and_not_the_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has waited past every time-out for a coordinator that was gone; what it held is not in doubt."""
    back = threading.Event()
    monkeypatch.setattr(transaction_file, "STUCK_S", 0.01)
    monkeypatch.setattr(bench.producer, "send_offsets_to_transaction", lambda *_: back.wait(20))
    bench.started()
    bench.produce(b"1")
    with pytest.raises(ProducerLost) as lost:
        bench.commit(1, within_s=0.05)
    back.set()
    assert lost.value.of_the_client
    assert (bench.transaction.state, bench.transaction.in_doubt) == (S.DEAD, False)
    bench.replace()
    bench.started()
    bench.produce(b"2")
    bench.commit(1)
    assert (bench.values, bench.committed) == ([b"2"], 1)
