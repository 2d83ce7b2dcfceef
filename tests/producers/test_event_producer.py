"""Events out: each has its outcome, whatever becomes of the broker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka import KafkaError

from pelton.errors import AccessDenied, BrokerUnavailable, ClientClosed, KafkaFailure, SettingsError
from pelton.producers.event_producer import Delivered, EventProducer
from pelton.testing import FakeKafka

DENIED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not allowed")
Make = Callable[..., EventProducer]


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"events": 1})


@pytest.fixture
def make(kafka: FakeKafka) -> Iterator[Make]:
    with ExitStack() as stack:

        def producer(delivery_s: float = 20.0, **properties: object) -> EventProducer:
            made = EventProducer(
                {"bootstrap.servers": "none", **properties},
                "events",
                delivery_s=delivery_s,
                make_producer=kafka.producer,
            )
            return stack.enter_context(made)

        yield producer


def test_each_event_is_told_where_it_lies_in_order(make: Make, kafka: FakeKafka) -> None:
    places = make().send_many({"n": number} for number in range(5))
    assert places == [Delivered("events", 0, offset) for offset in range(5)]
    assert [message.value() for message in kafka.read("events")] == [b'{"n":%d}' % number for number in range(5)]
    assert kafka.producers[0].config["enable.idempotence"] is True


def test_an_id_that_the_headers_bring_is_kept(make: Make, kafka: FakeKafka) -> None:
    make().send({"n": 1}, headers=[("idempotency-key", b"mine")]).result(20)
    (message,) = kafka.read("events")
    assert (message.key(), message.headers()) == (b"mine", [("idempotency-key", b"mine")])


def test_what_is_refused_is_told_to_its_sender_alone(make: Make, kafka: FakeKafka) -> None:
    producer = make(**{"batch.num.messages": 1})
    kafka.refuse = lambda message: DENIED if message.value() == b"bad" else None
    futures = [producer.send(value) for value in (b"good", b"bad", b"better")]
    assert [futures[0].result(20).offset, futures[2].result(20).offset] == [0, 1]
    with pytest.raises(AccessDenied):
        futures[1].result(20)


def test_b46_a_full_queue_is_waited_for_and_its_end_is_told(make: Make, kafka: FakeKafka) -> None:
    producer = make(0.2, **{"queue.buffering.max.messages": 2})
    kafka.stalled = {("events", 0)}
    futures = [producer.send({"n": number}) for number in range(2)]
    with pytest.raises(BrokerUnavailable, match="full"):
        producer.send({"n": 3})
    kafka.stalled = set()
    assert [future.result(20).offset for future in futures] == [0, 1]


def test_b10_closing_tells_everyone_who_waits(make: Make, kafka: FakeKafka) -> None:
    producer = make(0.1)
    kafka.stalled = {("events", 0)}
    future = producer.send({"n": 1})
    producer.close()
    with pytest.raises(KafkaFailure):
        future.result(0)
    with pytest.raises(ClientClosed):
        producer.send({"n": 2})


def test_b38_a_cancelled_future_holds_nobody_up(make: Make, kafka: FakeKafka) -> None:
    producer = make()
    kafka.stalled = {("events", 0)}
    first, second = producer.send(b"1"), producer.send(b"2")
    assert first.cancel()
    kafka.stalled = set()
    assert second.result(20).offset == 1


@pytest.mark.parametrize("delivery_s", [0, -1, float("nan"), 1e12])
def test_a_time_that_no_delivery_can_have_is_refused(make: Make, delivery_s: float) -> None:
    with pytest.raises(SettingsError, match="delivery_s: must be more than 0"):
        make(delivery_s)


def test_a_broker_must_be_named() -> None:
    with pytest.raises(SettingsError, match=r"bootstrap\.servers"):
        EventProducer("", "events")
