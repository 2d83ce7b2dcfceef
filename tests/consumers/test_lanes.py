"""Whose turn it is before the device: requests first, and the stream's share to the batch."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from pelton.consumers.batch import Lane
from pelton.consumers.batcher import Batcher
from pelton.consumers.lanes import Lanes
from pelton.schemas.records import Records

MAKE = Callable[..., Records]
SHARES = ["0.1", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.7", "0.75", "0.8", "0.9"]


class Crossing:
    """Two queues of batches of one record, of which every one waiting is due, unless `wait_s` says later."""

    def __init__(self, make: MAKE, share: float, wait_s: float = 0.0) -> None:
        self._make, self._offset = make, 0
        limits: dict[str, Any] = {"max_size": 1, "max_records": 10_000, "max_bytes": 10**9}
        self.requests = Batcher(**limits, max_wait_s=wait_s, lane=Lane.REQUESTS)
        self.stream = Batcher(**limits, max_wait_s=wait_s)
        self.lanes = Lanes(self.requests, self.stream, share)

    def put(self, *, requests: int = 0, stream: int = 0) -> None:
        for lane, n in ((self.requests, requests), (self.stream, stream)):
            for _ in range(n):
                lane.put(self._make([self._offset]))
                self._offset += 1

    def take(self) -> str:
        """The lane of the next batch, by its first letter; a dash when there is none."""
        batch = self.lanes.take()
        if batch is None:
            return "-"
        (self.stream if batch.lane is Lane.STREAM else self.requests).done()
        return batch.lane.value[0]

    def sequence(self, n: int) -> str:
        return "".join(self.take() for _ in range(n))


@pytest.fixture
def crossing(block: MAKE) -> Callable[..., Crossing]:
    return lambda share=0.25: Crossing(block, share)


def test_requests_go_first(crossing: Any) -> None:
    found = crossing()
    found.put(requests=2, stream=3)
    assert found.sequence(6) == "rrsss-"


@pytest.mark.parametrize("share", SHARES)
def test_while_both_wait_the_stream_has_its_share_after_every_single_batch(crossing: Any, share: str) -> None:
    """Of the first n batches, the whole part of n * share are the stream's, for every n."""
    found, n = crossing(float(share)), 300
    found.put(requests=n, stream=n)
    sequence = found.sequence(n)
    expected = [math.floor(k * Fraction(share)) for k in range(1, n + 1)]
    assert [sequence[:k].count("s") for k in range(1, n + 1)] == expected


def test_a_share_of_nothing_is_nothing_while_requests_wait(crossing: Any) -> None:
    found = crossing(0.0)
    found.put(requests=50, stream=50)
    assert found.sequence(100) == "r" * 50 + "s" * 50


def test_nothing_is_owed_for_the_time_that_the_stream_was_idle(crossing: Any) -> None:
    found = crossing(0.25)
    found.put(requests=300)
    assert found.sequence(200) == "r" * 200
    found.put(stream=100)
    assert found.sequence(8) == "rrrsrrrs"


def test_a_debt_is_forgotten_once_the_stream_waits_no_longer(crossing: Any) -> None:
    found = crossing(0.75)
    found.put(requests=10, stream=2)
    assert found.sequence(3) == "rss"  # one is still owed, and nothing there to pay it with
    assert found.sequence(1) == "r"
    found.put(stream=5)
    assert found.sequence(4) == "rsss"


def test_a_stream_alone_runs_up_no_credit_against_it(crossing: Any) -> None:
    found = crossing(0.25)
    found.put(stream=100)
    assert found.sequence(40) == "s" * 40
    found.put(requests=100)
    assert found.sequence(8) == "rrrsrrrs"


def test_b03_a_stream_held_for_trials_holds_no_request_up_and_is_owed_nothing(crossing: Any) -> None:
    found = crossing(0.5)
    found.put(requests=20, stream=5)
    found.stream.hold(held=True)
    assert found.sequence(6) == "r" * 6
    found.stream.admit(1)
    assert found.sequence(5) == "rsrrr"
    found.stream.hold(held=False)
    assert found.sequence(4) == "rsrs"


def test_b03_requests_held_for_trials_leave_the_device_to_the_stream(crossing: Any) -> None:
    found = crossing(0.25)
    found.put(requests=5, stream=5)
    found.requests.hold(held=True)
    assert found.sequence(2) == "ss"
    found.requests.admit(1)
    assert found.sequence(3) == "rss"
    found.requests.hold(held=False)
    assert found.sequence(6) == "rrrsr-"


@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_starves_either(crossing: Any, seed: int) -> None:
    """Whoever waits is passed over for no more batches than the shares allow, in any order of arrivals."""
    rng = random.Random(seed)
    share = float(rng.choice(SHARES))
    found = crossing(share)
    most = {"s": math.ceil(Fraction(1 - share) / Fraction(share)), "r": math.floor(1 / (1 - share) + 1e-9)}
    passed_over = {"s": 0, "r": 0}
    for _ in range(400):
        found.put(requests=rng.choice((0, 0, 1, 3)), stream=rng.choice((0, 0, 1, 3)))
        waiting = {"s": found.stream.n_records > 0, "r": found.requests.n_records > 0}
        taken = found.take()
        assert (taken == "-") == (not any(waiting.values()))
        for lane in "sr":
            passed_over[lane] = passed_over[lane] + 1 if waiting[lane] and taken != lane else 0
            assert passed_over[lane] <= most[lane], f"{lane} waited for more than {most[lane]} batches, share {share}"


def test_a_batch_is_due_when_either_lane_has_one(block: MAKE, clock: Any) -> None:
    found = Crossing(block, 0.25, wait_s=1.0)
    for lane in (found.requests, found.stream):
        lane.max_size = 2
    assert found.lanes.due_in_s() == math.inf
    found.stream.put(block([0], arrived_s=clock.now_s))
    clock.now_s += 0.25
    found.requests.put(block([0], arrived_s=clock.now_s))
    assert found.lanes.due_in_s() == pytest.approx(0.75)
    assert found.take() == "-"
    clock.now_s += 0.75
    assert found.sequence(2) == "s-"
    clock.now_s += 0.25
    assert found.take() == "r"


def test_closed_lanes_give_nothing_out(crossing: Any) -> None:
    found = crossing()
    found.put(requests=1, stream=1)
    found.lanes.close()
    assert found.take() == "-"


def test_what_a_batch_takes_is_told_to_the_requests(crossing: Any) -> None:
    found = crossing()
    found.lanes.takes_s = 0.5
    assert (found.requests.takes_s, found.stream.takes_s, found.lanes.takes_s) == (0.5, 0.0, 0.5)
