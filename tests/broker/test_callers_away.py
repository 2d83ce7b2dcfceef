"""A client whose broker is not there at its start, and goes away later."""

from collections.abc import Callable

import pytest

from pelton import kafka_config
from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable, CallExpired, CircuitOpen
from pelton.local_kafka import LocalKafka
from pelton.producers.client import RequestReplyClient
from pelton.topics import create

from .answered import Answered, echoing


@pytest.mark.timeout(180, func_only=True)
def test_b40_b46_a_broker_away_at_the_start_and_in_the_middle(own_kafka: Callable[..., LocalKafka]) -> None:
    port = kafka_config.choose_ports(None, None).client
    kafka = own_kafka(up=False, port=port)
    answered = Answered(f"127.0.0.1:{port}", "requests", "replies")
    with pytest.raises(BrokerUnavailable), RequestReplyClient(**answered.options(start_s=0.5)):
        pass
    kafka.up()
    create(answered.brokers, {"requests": 2, "replies": 2})
    with echoing(answered.brokers, "requests"), RequestReplyClient(**answered.options()) as client:
        assert client.call(1) == 2
        kafka.kill()
        with pytest.raises(CallExpired, match="Kafka's last word"):
            client.call(2, deadline_s=3.0)
        kept = client.submit(3, deadline_s=120.0)
        kafka.up()
        assert kept.result(100) == 6
        deadline = Deadline.after(60.0)
        while True:
            assert not deadline.expired
            try:
                answers = client.call_many(range(100))
            except (CircuitOpen, CallExpired):
                continue
            break
        assert answers == list(range(0, 200, 2))
        assert client.counts().pending == 0
