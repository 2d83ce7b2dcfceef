"""Blocks that are sent until they are committed: what is refused, by whom, and what is done about it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from pelton.deadline import Deadline
from pelton.errors import DeliveryFailed, Fenced, KafkaFailure
from pelton.producers import transaction as transaction_file
from pelton.schemas.codes import Code
from pelton.schemas.rejection import TOMBSTONE, Rejection

MAKE = Callable[..., Any]
LATE = KafkaError(KafkaError._TIMED_OUT, "late", retriable=True)
LOST = KafkaError(KafkaError.INVALID_TXN_STATE, "lost", fatal=True)
ABORTABLE = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", txn_requires_abort=True)
INVALID = KafkaError(KafkaError.INVALID_RECORD, "Broker: Broker failed to validate record")
NO_REPLICAS = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "Broker: Not enough in-sync replicas")
FORBIDDEN = KafkaError(KafkaError.POLICY_VIOLATION, "Broker: Policy violation")
BAD = Rejection(Code.INVALID, "x: Expected `float`, got `str`", "decode", "msgspec.ValidationError")


def refusing(error: KafkaError, *offsets: int) -> Callable[[Message], KafkaError | None]:
    def refuse(message: Message) -> KafkaError | None:
        value = message.value()
        if message.topic() != "scores" or value is None:
            return None
        return error if json.loads(value)["source"]["offset"] in offsets else None

    return refuse


def n_written(road: Any, topic: str = "scores") -> int:
    """Records in the topic's log, committed or not."""
    return sum(map(len, road.kafka.topics[topic]))


def test_b21_an_aborted_transaction_is_sent_again_as_it_was(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0, 1]), [0.25, BAD])
    road.sink.write(records([2]), [0.75])
    road.fail("send_offsets_to_transaction", ABORTABLE)
    assert road.commit() == []
    assert (road.scores, road.dead, road.committed, road.sink.in_flight) == ([], [], {}, 3)
    assert road.sink.commit(Deadline.after(5))
    settled = road.sink.settled()
    assert [(block.records.offsets, block.refused) for block in settled] == [([0, 1], {Code.INVALID: 1}), ([2], {})]
    assert (road.scores, road.dead, road.committed) == ([(0, 0.25), (2, 0.75)], [(1, "invalid")], {0: 3})
    assert (n_written(road), n_written(road, "dead")) == (4, 2), "the first sending lies there, aborted"


def test_b21_what_is_written_between_an_abort_and_the_next_try_keeps_its_place(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.0])
    road.fail("send_offsets_to_transaction", ABORTABLE)
    road.commit()
    road.sink.write(records([1]), [1.0])
    assert road.commit() == [[0], [1]]
    assert (road.scores, road.committed) == ([(0, 0.0), (1, 1.0)], {0: 2})


def test_b21_what_is_written_while_a_commit_is_unanswered_goes_into_the_next_transaction(
    exact: MAKE, records: MAKE
) -> None:
    road = exact()
    road.sink.write(records([0]), [0.0])
    road.fail("commit_transaction", *[LATE] * 100)
    assert road.commit(within_s=0.01) == []
    road.sink.write(records([1]), [1.0])
    road.kafka.coordinator._failing.clear()
    assert road.commit(3) == [[0], [1]]
    assert (road.scores, road.kafka.commits) == ([(0, 0.0), (1, 1.0)], [{("events", 0): 1}, {("events", 0): 2}])


def test_b07_b20_blocks_of_partitions_that_left_are_dropped_and_the_others_sent_again(
    exact: MAKE, records: MAKE
) -> None:
    road = exact()
    for partition in (0, 1, 2):
        road.sink.write(records([5, 6], partition=partition), [0.5, 0.5])
    road.kafka.producers[0].flush()
    road.left = {1}
    road.consumer.consumer_group_metadata = lambda: pytest.fail("nobody asks the consumer")
    assert road.commit() == [[5, 6], [5, 6]]
    assert (road.committed, road.sink.in_flight) == ({0: 7, 2: 7}, 0)
    assert sorted(json.loads(m.value())["source"]["partition"] for m in road.kafka.read("scores")) == [0, 0, 2, 2]


def test_b07_reports_of_what_was_taken_back_spoil_nothing_that_is_sent_again(exact: MAKE, records: MAKE) -> None:
    road = exact()
    for partition in (0, 1):
        road.sink.write(records([5], partition=partition), [0.5])
    road.left = {1}
    assert road.commit() == [[5]]
    assert (road.committed, road.ended, len(road.kafka.producers)) == ({0: 6}, ["aborted", "committed"], 1)


def test_b07_when_all_has_left_the_transaction_is_aborted_and_nothing_waits(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.left = {0}
    assert road.commit() == []
    assert (road.scores, road.committed, road.sink.in_flight) == ([], {}, 0)
    assert (road.calls[-1], road.ended) == ("abort_transaction", ["aborted"])
    assert not road.sink.written.is_set()


@pytest.mark.parametrize("moved", ["generation", "expelled"])
def test_b20_after_a_refusal_by_the_group_nothing_is_asked_before_it_has_told_the_member(
    exact: MAKE, records: MAKE, moved: str
) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    if moved == "generation":
        road.kafka.groups.move("g")
    else:
        road.kafka.groups.follow("g", road.consumer.memberid(), lost=True)
    assert road.commit() == []
    assert road.commit(5) == []
    road.sink.write(records([1]), [0.5])
    assert road.commit(5) == []
    assert road.calls[1:] == ["begin_transaction", "send_offsets_to_transaction", "abort_transaction"]
    assert (road.ended, n_written(road)) == (["aborted"], 1)
    assert (road.scores, road.committed) == ([], {})
    assert len(road.kafka.producers) == 1, "the group's refusal says nothing of the producer or of a record"
    if moved == "expelled":
        road.consumer.give(("events", 0))
        road.consumer.consume(1, 0)
    road.tell_member()
    assert road.commit() == [[0], [1]]
    assert (road.scores, road.committed) == ([(0, 0.5), (1, 0.5)], {0: 2})


def test_b20_without_a_group_nothing_is_committed(exact: MAKE, records: MAKE) -> None:
    road = exact()
    member, road.member = road.member, None
    road.sink.write(records([0]), [0.5])
    assert road.commit(3) == []
    assert road.calls == ["init_transactions"], "nothing is open while nobody can tell how long it would be"
    road.member = member
    assert road.commit() == [[0]]
    road.sink.write(records([1]), [0.5])
    road.member = None
    assert road.commit(3) == []
    assert road.committed == {0: 1}
    road.member = member
    assert road.commit() == [[1]]


def both_at_once(road: Any, n_scores: int) -> Callable[[], None]:
    """Return a check that scores and dead letters are seen together or not at all."""

    def check() -> None:
        seen = len(road.kafka.read("scores")), len(road.kafka.read("dead"))
        assert seen in {(0, 0), (n_scores, 1)}

    return check


@pytest.mark.parametrize("partition", ["source", "key"])
@pytest.mark.parametrize("limit", ["client", "topic"])
def test_b28_a_score_too_large_is_a_dead_letter_in_one_transaction_with_its_neighbours(
    exact: MAKE, records: MAKE, partition: str, limit: str
) -> None:
    road = exact(partition=partition, config={"message.max.bytes": 50_000})
    road.kafka.max_bytes["scores"] = 5_000
    scores: list[Any] = [float(n) for n in range(10)]
    scores[6] = "b" * (60_000 if limit == "client" else 8_000)
    road.sink.write(records(range(10)), scores)
    road.sink.write(records([3], partition=1), [1.0])
    check = both_at_once(road, 10)
    settled = []
    while road.sink.in_flight:
        assert road.sink.commit(Deadline.after(5)) in {True, False}
        check()
        settled += road.sink.settled()
    assert sorted(road.scores) == sorted([*((n, float(n)) for n in range(10) if n != 6), (3, 1.0)])
    assert (road.dead, road.committed) == ([(6, "too_large")], {0: 10, 1: 4})
    assert [block.refused for block in settled] == [{Code.TOO_LARGE: 1}, {}]


@pytest.mark.parametrize("at_fault", [(0,), (2, 4), (0, 1, 2, 3, 4)])
def test_b08_records_the_broker_will_not_take_are_found_singly_and_the_rest_is_scored(
    exact: MAKE, records: MAKE, at_fault: tuple[int, ...]
) -> None:
    road = exact()
    road.kafka.refuse = refusing(INVALID, *at_fault)
    road.sink.write(records(range(5)), [float(n) for n in range(5)])
    while road.sink.in_flight:
        road.sink.commit(Deadline.after(5))
    (safe,) = road.sink.settled()
    assert road.scores == [(n, float(n)) for n in range(5) if n not in at_fault]
    assert road.dead == [(n, "invalid") for n in at_fault]
    assert (road.committed, safe.refused) == ({0: 5}, {Code.INVALID: len(at_fault)})
    singly = [producer.config.get("batch.num.messages") for producer in road.kafka.producers]
    assert singly == [None, 1, None], "once nothing waits, the next block leaves the fast way again"
    road.sink.write(records([5]), [5.0])
    assert road.commit() == [[5]]
    assert len(road.kafka.producers) == 3


def test_b11_a_passed_tombstone_that_is_refused_is_named_by_its_key(exact: MAKE, records: MAKE) -> None:
    road = exact(key="input-key", tombstones="pass")
    road.kafka.refuse = lambda m: INVALID if m.topic() == "scores" and m.key() == b"no" else None
    road.sink.write(records([0, 1], keys=[b"k", b"no"], values=[b"{}", None]), [1.0, TOMBSTONE])
    while road.sink.in_flight:
        road.sink.commit(Deadline.after(5))
    assert (road.scores, road.dead, road.committed) == ([(0, 1.0)], [(1, "invalid")], {0: 2})


def test_b08_a_refusal_that_no_record_is_to_blame_for_ends_the_worker_after_a_few(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.kafka.refuse = lambda _: FORBIDDEN
    road.sink.write(records([0, 1]), [0.5, 0.5])
    for _ in range(3):
        assert road.commit() == []
    with pytest.raises(DeliveryFailed):
        road.commit()
    road.kafka.refuse = lambda _: None
    for call in (road.sink.settled, lambda: road.sink.write(records([2]), [0.5]), road.commit):
        with pytest.raises(DeliveryFailed):
            call()
    assert (road.scores, road.dead, road.committed) == ([], [], {})


def test_b08_refusals_are_counted_in_a_row(exact: MAKE, records: MAKE) -> None:
    road = exact()
    for n in range(4):
        road.sink.write(records([n]), [0.5])
        road.kafka.refuse = lambda _: FORBIDDEN
        for _ in range(3):
            assert road.commit() == []
        road.kafka.refuse = lambda _: None
        assert road.commit() == [[n]]
    assert road.scores == [(n, 0.5) for n in range(4)]


def test_b08_a_broker_that_lacks_replicas_is_waited_for_and_nothing_is_sent_singly(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.kafka.refuse = lambda _: NO_REPLICAS
    road.sink.write(records([0, 1]), [0.5, 0.5])
    for _ in range(10):
        assert road.commit() == []
    road.kafka.refuse = lambda _: None
    assert road.commit() == [[0, 1]]
    assert (road.scores, len(road.kafka.producers)) == ([(0, 0.5), (1, 0.5)], 1)


def test_b21_a_commit_refused_after_a_lost_answer_is_asked_about_as_well(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.coordinator.lose("commit_transaction", LATE)
    assert road.commit(within_s=0.0) == []
    road.fail("commit_transaction", ABORTABLE)
    assert road.commit(3) == [[0]]
    assert (road.scores, road.committed, n_written(road)) == ([(0, 0.5)], {0: 1}, 1)


@pytest.mark.parametrize("happened", [True, False])
def test_b21_a_commit_in_doubt_is_asked_about_and_never_made_twice(exact: MAKE, records: MAKE, happened: bool) -> None:
    road = exact()
    road.sink.write(records([0, 1]), [0.0, 1.0])
    road.sink.write(records([4], partition=3), [4.0])
    (road.kafka.coordinator.lose if happened else road.kafka.coordinator.fail)("commit_transaction", LOST)
    assert road.commit() == []
    assert road.ended == ["lost"]
    road.sink.write(records([2]), [2.0])
    settled = road.commit(3)
    assert settled == [[0, 1], [4], [2]]
    assert road.scores == [(0, 0.0), (1, 1.0), (2, 2.0), (4, 4.0)]
    assert road.committed == {0: 3, 3: 5}
    assert n_written(road) == (4 if happened else 7)
    assert road.sink.in_flight == 0


def test_b21_a_doubt_waits_for_the_brokers_word(exact: MAKE, records: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.coordinator.lose("commit_transaction", LOST)
    road.commit()
    road.kafka.reachable = False
    assert road.commit(within_s=0.01) == []
    road.kafka.reachable = True
    pending = road.consumer.committed
    monkeypatch.setattr(road.consumer, "committed", lambda *_: pytest.fail("asked before the old one was ended"))
    with pytest.raises(pytest.fail.Exception):
        road.commit()
    assert road.calls.count("init_transactions") >= 2
    monkeypatch.setattr(road.consumer, "committed", pending)
    assert road.commit() == [[0]]
    assert (road.scores, n_written(road)) == ([(0, 0.5)], 1)


def test_b21_a_producer_that_is_lost_is_replaced_and_its_work_sent_again(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.producers[0].break_down(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "gap", fatal=True))
    road.sink.write(records([1]), [0.5])
    assert road.commit(3) == [[0], [1]]
    assert (road.scores, road.committed, road.ended) == ([(0, 0.5), (1, 0.5)], {0: 2}, ["lost", "committed"])


def test_b21_a_producer_that_cannot_begin_does_not_end_the_writer(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.fail("begin_transaction", KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "gap", fatal=True))
    road.sink.write(records([0]), [0.5])
    assert road.commit(3) == [[0]]
    assert (road.scores, road.ended) == ([(0, 0.5)], ["lost", "committed"])


def test_b21_producers_that_are_lost_one_after_the_other_end_the_worker(exact: MAKE, records: MAKE) -> None:
    road = exact()
    road.fail("send_offsets_to_transaction", *[LOST] * 10)
    road.sink.write(records([0]), [0.5])
    with pytest.raises(DeliveryFailed):
        road.commit(10)
    assert len(road.kafka.producers) == 4


def test_b21_a_transaction_that_outlived_its_time_is_sent_again_by_a_new_producer(
    exact: MAKE, records: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    road = exact()
    late_s = [0.0]
    own = transaction_file.time.monotonic
    monkeypatch.setattr(transaction_file, "time", type("Late", (), {"monotonic": lambda: own() + late_s[0]}))
    road.kafka.coordinator.clock = lambda: late_s[0]
    road.sink.write(records([0]), [0.5])
    road.kafka.producers[0].flush()
    late_s[0] = 11.0
    assert road.commit(3) == [[0]]
    assert (road.scores, road.committed, len(road.kafka.producers)) == ([(0, 0.5)], {0: 1}, 2)


@pytest.mark.parametrize("when", ["begun", "sent", "between", "singly"])
def test_b60_the_older_of_two_processes_with_one_id_ends_and_fights_no_duel(
    exact: MAKE, records: MAKE, when: str
) -> None:
    """However it hears of it: in a call, while messages leave, or because no more are taken."""
    road = exact()
    if when == "singly":
        road.kafka.refuse = refusing(INVALID, 0)
    road.sink.write(records([0, 1]), [0.5, 0.5])
    if when in {"sent", "between"}:
        road.kafka.producers[0].flush()
    if when == "singly":
        road.commit()
        road.sink.start(Deadline.after(5))
    n_producers = len(road.kafka.producers) + 1
    rival = road.rival()
    if when == "between":
        road.sink.write(records([2]), [0.5])
        with pytest.raises(Exception, match="fenced"):
            road.kafka.producers[0].poll(0)
        road.sink.write(records([3]), [0.5])
    with pytest.raises(Fenced):
        road.commit(10)
    assert len(road.kafka.producers) == n_producers, "no producer was made to take the id back"
    road.kafka.refuse = lambda _: None
    rival.begin_transaction()
    rival.produce("scores", b"{}", partition=0)
    rival.commit_transaction(1)
    assert [message.value() for message in road.kafka.read("scores")] == [b"{}"]
    with pytest.raises(KafkaFailure):
        road.sink.settled()
