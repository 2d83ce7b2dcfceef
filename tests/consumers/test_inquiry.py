"""What a group has committed is asked until it is known."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from pelton.consumers import inquiry as inquiry_file
from pelton.consumers.inquiry import Inquiry
from pelton.errors import BrokerUnavailable


class Slow:
    """A consumer that finds its coordinator between the second call and the third."""

    made: list["Slow"]

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.calls, self.closed = config, 0, False
        self.made.append(self)

    def committed(self, wanted: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self.calls += 1
        if self.calls < 3:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"not within {timeout}"))
        return [TopicPartition(at.topic, at.partition, 7 if at.partition else -1001) for at in wanted]

    def close(self) -> None:
        self.closed = True


def test_b21_a_client_that_needs_longer_than_one_call_may_take_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow.made = []
    monkeypatch.setattr(inquiry_file, "Consumer", Slow)
    inquiry = Inquiry({"group.id": "g"})
    for _ in range(2):
        with pytest.raises(BrokerUnavailable):
            inquiry.offsets([("in", 0), ("in", 1)], 0.01)
    assert inquiry.offsets([("in", 0), ("in", 1)], 0.01) == {("in", 1): 7}
    (asked,) = Slow.made
    assert (asked.calls, asked.closed) == (3, True)
    assert (asked.config["isolation.level"], asked.config["group.id"]) == ("read_committed", "g")
