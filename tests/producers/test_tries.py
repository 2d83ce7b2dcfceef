"""How often in a row a sink could not write is told, and forgotten with the first success."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.producers import tries as tries_file
from pelton.producers.tries import Tries

MAKE = Callable[..., Any]
ABORT = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", txn_requires_abort=True)


class Clock:
    """A clock that stands still unless told."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


def test_failures_in_a_row_are_counted_with_their_last_reason_and_age(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(tries_file, "time", clock)
    tries = Tries()
    for reason, seconds in (("one", 2.0), ("two", 3.0)):
        tries.failed(reason)
        clock.now_s += seconds
    assert (tries.attempts, tries.reason, tries.failing_s()) == (2, "two", 5.0)
    tries.ended("aborted")
    assert tries.attempts == 2
    tries.ended("committed")
    assert (tries.attempts, tries.reason, tries.failing_s(), tries.total) == (0, "", 0.0, 2)


@pytest.mark.parametrize("away", [True, False])
def test_a_sink_tells_how_often_its_commit_failed_until_one_succeeds(exact: MAKE, records: MAKE, away: bool) -> None:
    road = exact()
    road.sink.write(records([0]), [0.5])
    road.kafka.reachable = not away
    if not away:
        road.kafka.coordinator.fail("send_offsets_to_transaction", ABORT)
    assert road.commit(within_s=0.01) == []
    assert (road.sink.tries.attempts, road.sink.tries.total) == (1, 1)
    assert road.sink.tries.reason != ""
    road.kafka.reachable = True
    road.commit(rounds=3)
    assert (road.scores, road.sink.tries.attempts, road.sink.tries.total) == ([(0, 0.5)], 0, 1)


def test_deliveries_that_are_doubted_are_a_failure_until_all_are_safe(rig: MAKE, records: MAKE) -> None:
    road = rig()
    road.kafka.max_bytes["scores"] = 1_000
    road.sink.write(records(range(50)), [float(n) for n in range(50)])
    road.sink._serve(0)
    assert (road.sink.tries.attempts, road.sink.tries.total) == (1, 1)
    road.settle()
    assert (road.sink.tries.attempts, road.sink.tries.total) == (0, 1)
