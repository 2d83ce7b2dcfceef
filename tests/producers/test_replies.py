"""Answers out: each is told what became of it, and none of them harms another."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable
from pelton.producers.envelope import Sent
from pelton.producers.replies import Replies
from pelton.producers.reply_topics import ReplyTopics
from pelton.schemas.request import RequestHead
from pelton.testing import FakeKafka

NO_REPLICAS = KafkaError(KafkaError.NOT_ENOUGH_REPLICAS, "Broker: Not enough in-sync replicas")
GONE = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic or partition")
OUT_OF_ORDER = KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "out of order", fatal=True)


class Office:
    """Answers that leave for the topics `answers`, with two partitions, and `team-a`, with one."""

    def __init__(self, **config: Any) -> None:
        self.kafka = FakeKafka({"answers": 2, "team-a": 1, "asked": 1})
        self.kafka.patience_s = 0.001
        self.looked_up: list[str] = []
        self.may_look_up = threading.Event()
        self.may_look_up.set()
        self.topics = ReplyTopics(["answers", "team-*"], self.describe)
        self.replies = Replies({"enable.idempotence": True, **config}, self.topics, ["asked"], self.kafka.producer)
        self.ends: list[tuple[str, Sent]] = []

    def describe(self, names: Iterable[str]) -> dict[str, int]:
        names = list(names)
        self.looked_up += names
        assert self.may_look_up.wait(20)
        return {name: len(self.kafka.topics[name]) for name in names if name in self.kafka.topics}

    def send(self, name: str, value: bytes | None = None, topic: str = "answers", to: int | None = None) -> None:
        head = RequestHead(name.encode(), topic, to, traceparent=b"00-aa-bb-01" if name == "traced" else None)
        value = value or name.encode()
        self.replies.send(head, value, f"trace-{name}", lambda sent: self.ends.append((name, sent)))

    def flush(self) -> None:
        assert self.replies.flush(Deadline.after(20))

    @property
    def values(self) -> list[bytes | None]:
        return [message.value() for message in self.kafka.read("answers")]


@pytest.fixture
def office() -> Callable[..., Office]:
    return Office


def test_an_answer_is_delivered_once_the_broker_has_it(office: Any) -> None:
    desk = office()
    desk.send("traced", b"\xc3\x28", to=1)
    desk.send("plain", b"{}", to=0)
    assert desk.replies.in_flight == 2
    desk.flush()
    assert desk.ends == [("traced", Sent.DELIVERED), ("plain", Sent.DELIVERED)]
    plain, traced = desk.kafka.read("answers")
    assert (traced.partition(), traced.value()) == (1, b"\xc3\x28")
    assert traced.headers() == [("kafka_correlationId", b"traced"), ("traceparent", b"00-aa-bb-01")]
    assert (plain.partition(), plain.headers()) == (0, [("kafka_correlationId", b"plain")])
    assert desk.replies.in_flight == 0


def test_without_a_partition_any_will_do(office: Any) -> None:
    desk = office()
    desk.send("a")
    desk.flush()
    assert desk.values == [b"a"]


@pytest.mark.parametrize(
    ("topic", "to", "end", "n_looked_up"),
    [
        ("elsewhere", None, Sent.FORBIDDEN, 0),
        ("team-z", None, Sent.NO_TOPIC, 1),
        ("answers", 2, Sent.NO_TOPIC, 1),
        ("team-a", 2**31 - 1, Sent.NO_TOPIC, 1),
    ],
)
def test_an_answer_to_nowhere_is_told_and_never_sent(
    office: Any, topic: str, to: int | None, end: Sent, n_looked_up: int
) -> None:
    desk = office()
    desk.send("a", topic=topic, to=to)
    desk.flush()
    assert desk.ends == [("a", end)]
    assert len(desk.looked_up) == n_looked_up
    assert sum(len(producer) for producer in desk.kafka.producers) == 0


def test_a_slow_look_up_makes_no_other_answer_wait(office: Any) -> None:
    desk = office()
    desk.send("known")
    desk.flush()
    desk.may_look_up.clear()
    desk.send("unknown", topic="team-a")
    desk.send("known again")
    desk.replies.serve(0.001)
    assert ("known again", Sent.DELIVERED) in desk.ends
    assert (desk.replies.in_flight, desk.replies.flush(Deadline.after(0))) == (1, False)
    desk.may_look_up.set()
    desk.flush()
    assert desk.ends[-1] == ("unknown", Sent.DELIVERED)


def test_b28_answers_that_are_too_large_only_together_are_sent_as_they_are(office: Any) -> None:
    """A broker's limit is for a batch of them."""
    desk = office()
    desk.kafka.max_bytes["answers"] = 400
    for n in range(10):
        desk.send(f"{n}", b"%d" % n * 150, to=0)
    desk.flush()
    assert sorted(desk.ends) == [(f"{n}", Sent.DELIVERED) for n in range(10)]
    assert sorted(desk.values) == [b"%d" % n * 150 for n in range(10)]


@pytest.mark.parametrize("refused_by", ["broker", "client"])
def test_b28_an_answer_too_large_is_replaced_by_one_that_says_so(office: Any, refused_by: str) -> None:
    desk = office(**({"message.max.bytes": 400} if refused_by == "client" else {}))
    if refused_by == "broker":
        desk.kafka.max_bytes["answers"] = 400
    desk.send("before", to=0)
    desk.send("large", b"x" * 1_500, to=0)
    desk.send("after", to=0)
    desk.flush()
    assert Counter(desk.ends) == Counter((name, Sent.DELIVERED) for name in ("before", "large", "after"))
    found = {message.headers()[0][1]: message.value() for message in desk.kafka.read("answers")}
    assert {name: found[name] for name in (b"before", b"after")} == {b"before": b"before", b"after": b"after"}
    told = json.loads(found[b"large"])
    assert (told["code"], told["trace_id"]) == ("too_large", "trace-large")
    assert set(told) == {"code", "error", "trace_id"}


def test_b28_where_not_even_that_fits_it_has_failed(office: Any) -> None:
    desk = office(**{"message.max.bytes": 20})
    desk.send("large", b"x" * 1_500)
    desk.send("b", b"y")
    desk.flush()
    assert sorted(desk.ends) == [("b", Sent.DELIVERED), ("large", Sent.FAILED)]


def test_b08_a_refused_delivery_is_told_and_harms_no_other(office: Any) -> None:
    desk = office(**{"batch.num.messages": 1})
    desk.kafka.refuse = lambda message: NO_REPLICAS if message.value() == b"b" else None
    for name in "abc":
        desk.send(name, to=0)
    desk.flush()
    assert desk.ends == [("a", Sent.DELIVERED), ("b", Sent.FAILED), ("c", Sent.DELIVERED)]
    assert desk.values == [b"a", b"c"]
    assert desk.looked_up == ["answers"]


def test_a_topic_that_the_broker_no_longer_knows_is_looked_up_anew(office: Any) -> None:
    desk = office()
    once = iter([GONE])
    desk.kafka.refuse = lambda _: next(once, None)
    desk.send("a")
    desk.flush()
    desk.send("b")
    desk.flush()
    assert desk.ends == [("a", Sent.FAILED), ("b", Sent.DELIVERED)]
    assert desk.looked_up == ["answers", "answers"]


@pytest.mark.parametrize("found_by", ["serve", "send", "flush"])
def test_b08_a_producer_that_has_failed_for_good_is_replaced_and_what_it_held_goes_again(
    office: Any, found_by: str
) -> None:
    desk = office()
    desk.send("first")
    desk.flush()
    desk.kafka.reachable = False
    desk.send("held")
    desk.kafka.producers[0].break_down(OUT_OF_ORDER)
    if found_by == "send":
        desk.kafka.producers[0].config["error_cb"](OUT_OF_ORDER)  # in a thread of the client's own
    elif found_by == "serve":
        desk.replies.serve()
    else:
        desk.replies.flush(Deadline.after(0.1))
    assert len(desk.kafka.producers) == (1 if found_by == "send" else 2)
    desk.kafka.reachable = True
    desk.send("next")
    desk.flush()
    assert sorted(desk.ends) == [(name, Sent.DELIVERED) for name in ("first", "held", "next")]
    assert sorted(desk.values) == [b"first", b"held", b"next"]
    assert len(desk.kafka.producers) == 2


def test_b08_an_answer_that_two_producers_have_failed_with_has_failed(office: Any) -> None:
    desk = office()
    desk.send("first")
    desk.flush()
    desk.kafka.reachable = False
    desk.send("held")
    for number in (0, 1):
        assert desk.ends == [("first", Sent.DELIVERED)]
        desk.kafka.producers[number].break_down(OUT_OF_ORDER)
        desk.replies.serve()
    assert desk.ends == [("first", Sent.DELIVERED), ("held", Sent.FAILED)]
    assert desk.replies.tries.attempts == 1


def test_a_full_queue_is_a_failed_answer_and_no_wait(office: Any) -> None:
    desk = office(**{"queue.buffering.max.messages": 1})
    desk.kafka.reachable = False
    desk.send("a", topic="answers")
    while desk.topics.waiting:
        desk.replies.serve(0.001)
    desk.send("b")
    assert ("b", Sent.FAILED) in desk.ends
    desk.kafka.reachable = True
    desk.flush()
    assert ("a", Sent.DELIVERED) in desk.ends


def test_b10_a_flush_ends_in_time_without_a_broker(office: Any) -> None:
    desk = office()
    desk.kafka.reachable = False
    desk.send("a")
    assert desk.replies.flush(Deadline.after(0.02)) is False
    assert desk.ends == []
    desk.replies.close()
    desk.kafka.reachable = True
    desk.replies.serve()
    assert (desk.values, desk.ends) == ([], [])  # it has not failed: the next owner of the request answers it
    assert desk.replies.flush(Deadline.after(20)) is False


def test_a_broker_that_is_away_is_told_and_a_topic_that_is_missing_is_not(office: Any) -> None:
    desk = office()
    desk.replies.reach(1.0)
    del desk.kafka.topics["asked"]
    desk.replies.reach(1.0)
    desk.kafka.reachable = False
    with pytest.raises(BrokerUnavailable):
        desk.replies.reach(1.0)


def test_a_topic_that_is_gone_is_no_sign_that_answers_cannot_leave(office: Any) -> None:
    desk = office()
    desk.kafka.refuse = lambda message: GONE if message.value() == b"gone" else NO_REPLICAS
    desk.send("gone")
    desk.flush()
    assert desk.replies.tries.attempts == 0
    desk.send("refused")
    desk.flush()
    assert (desk.replies.tries.attempts, desk.replies.tries.reason) == (1, NO_REPLICAS.str())
