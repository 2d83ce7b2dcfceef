"""Clients and a replier by hand on a real Kafka."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pelton.deadline import Deadline
from pelton.errors import CallExpired, CircuitOpen, ClientClosed, InvalidRequest, TopicMissing, UnreadableReply
from pelton.producers.client import RequestReplyClient

from .answered import Answered, echoing
from .outside import Outside

Client = Callable[..., RequestReplyClient]


@pytest.fixture
def client(answered: Answered) -> Iterator[Client]:
    """`client(**options)` makes a client, which is closed with the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(RequestReplyClient(**answered.options(**options)))


def test_numbers_are_doubled_one_by_one_and_many_at_once(client: Client) -> None:
    caller = client()
    assert [caller.call(number) for number in range(5)] == [0, 2, 4, 6, 8]
    assert caller.call([1, 2, 3]) == [2, 4, 6]
    assert caller.call_many(iter(range(3000))) == [2 * number for number in range(3000)]
    assert caller.submit(21, key="k").result(30) == 42
    assert caller.counts().pending == 0


def test_errors_come_by_code_in_the_place_of_their_call(client: Client) -> None:
    caller = client(repeats=0)
    asked = [1, {"code": "invalid"}, {"raw": "no json"}, float("nan"), 5]
    one, invalid, unreadable, not_finite, five = caller.call_many(asked, return_errors=True)
    assert (one, five) == (2, 10)
    assert (type(invalid), invalid.code, invalid.trace_id) == (InvalidRequest, "invalid", "t-1")
    assert isinstance(unreadable, UnreadableReply)
    assert (type(not_finite), not_finite.code) == (InvalidRequest, "not_finite")
    with pytest.raises(InvalidRequest, match="asked for invalid"):
        caller.call_many(asked)
    assert caller.counts().pending == 0


def test_b44_a_request_whose_answer_is_lost_is_repeated_under_its_id(client: Client) -> None:
    caller = client(silence_s=0.3)
    assert caller.call({"x": 4, "drop": True, "times": 2}) == 8
    assert caller.call({"x": 5, "code": "overloaded", "times": 1}) == 10
    assert sorted(caller.call({"seen": True})["seen"].values()) == [1, 2, 3]


def test_b35_strange_late_and_double_answers_are_counted_and_nothing_else(client: Client) -> None:
    caller = client(repeats=0)
    asked = [{"x": 1, "twice": True}, {"x": 2, "foreign": True}, {"drop": True}, 4]
    two, four, expired, eight = caller.call_many(asked, deadline_s=2.0, return_errors=True)
    assert (two, four, eight) == (2, 4, 8)
    assert isinstance(expired, CallExpired)
    counts = caller.counts()
    assert (counts.late, counts.foreign, counts.expired, counts.pending) == (1, 1, 1, 0)


def test_b35_clients_that_share_a_partition_pass_over_each_others_answers(client: Client) -> None:
    callers = [client(reply_partition=3) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        asked = [range(first, first + 300) for first in (0, 1000, 2000)]
        answers = list(threads.map(lambda caller, numbers: caller.call_many(numbers), callers, asked))
    assert answers == [[2 * number for number in numbers] for numbers in asked]
    for caller in callers:  # one more call each: all that was answered before it has been read
        caller.call(1)
    assert all(600 <= caller.counts().foreign <= 602 for caller in callers)
    assert {(caller.counts().late, caller.counts().pending) for caller in callers} == {(0, 0)}


@pytest.mark.timeout(120, func_only=True)
def test_b35_two_clients_share_topics_while_one_is_killed_and_comes_back(answered: Answered, client: Client) -> None:
    caller = client(reply_partition=1)
    mine: list[Any] = []
    asking = threading.Thread(target=lambda: mine.extend(caller.call(number) for number in range(500)))
    asking.start()
    with answered.start("calling.py", 10_000, 500) as first:
        assert first.stdout is not None
        before = [first.stdout.readline() for _ in range(100)]
        first.kill()
    with answered.start("calling.py", 10_000, 500) as second:
        assert second.stdout is not None
        *lines, counts = second.stdout.read().splitlines()
    asking.join(60)
    right = [f"{number} {2 * number}" for number in range(10_000, 10_500)]
    assert [line.strip() for line in before] == right[:100]
    assert lines == right
    assert mine == [2 * number for number in range(500)]
    assert (json.loads(counts)["pending"], caller.counts().pending) == (0, 0)


def test_b38_a_future_that_is_cancelled_is_told_to_the_other_side(client: Client, tmp_path: Path) -> None:
    caller = client()
    futures = [caller.submit({"hold": str(tmp_path / "free")}) for _ in range(8)]
    assert all(future.cancel() for future in futures[:3])
    deadline = Deadline.after(20.0)
    while len(caller.call({"seen": True})["cancelled"]) < 3:
        assert not deadline.expired
    (tmp_path / "free").touch()
    assert [future.result(20) for future in futures[3:]] == ["free"] * 5
    assert all(future.cancelled() for future in futures[:3])
    assert caller.counts().pending == 0


def test_b46_more_calls_than_the_producer_holds_wait_instead_of_failing(answered: Answered, client: Client) -> None:
    caller = client(kafka={"bootstrap.servers": answered.brokers, "queue.buffering.max.messages": 100})
    futures = [caller.submit(number) for number in range(5000)]
    assert [future.result(60) for future in futures] == [2 * number for number in range(5000)]


def test_b28_too_large_for_the_topic_fails_that_call_and_no_other(
    brokers: str, topic_factory: Callable[..., str], outside: Outside
) -> None:
    requests, replies = topic_factory(1, {"max.message.bytes": "5000"}), topic_factory(1)
    options = Answered(brokers, requests, replies).options(kafka={"bootstrap.servers": brokers, "linger.ms": 200})
    with echoing(brokers, requests), RequestReplyClient(**options) as caller:
        two, large, four = caller.call_many([1, {"x": 1, "pad": "x" * 20_000}, 2], return_errors=True)
    assert (two, four) == (2, 4)
    assert (type(large), large.code) == (InvalidRequest, "too_large")
    assert len(outside.read(requests)) == 2


def test_b38_two_hundred_calls_in_a_hurry_leave_fifty_others_alone(client: Client) -> None:
    caller = client()
    hasty = [caller.submit({"x": 1, "drop": True}, deadline_s=0.01) for _ in range(200)]
    assert {type(future.exception(20)) for future in hasty} == {CallExpired}
    assert caller.call_many(range(50)) == list(range(0, 100, 2))
    assert caller.counts().pending == 0


def test_a_slow_call_is_hedged_in_another_partition(client: Client) -> None:
    caller = client(repeats=0, hedge=True)
    caller.call_many(range(100))
    before = caller.counts().hedged
    assert caller.call({"x": 4, "drop": True, "times": 1}) == 8
    assert caller.counts().hedged == before + 1
    places = [places for places in caller.call({"seen": True})["at"].values() if len(places) == 2]
    assert places
    assert all(len(set(each)) == 2 for each in places)


def test_one_client_serves_many_threads(client: Client) -> None:
    caller = client()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(caller.call, range(1000)))
    assert answers == list(range(0, 2000, 2))
    assert (caller.counts().answered, caller.counts().pending) == (1000, 0)


def test_a_reply_topic_that_is_deleted_fails_whoever_waits_at_once(
    answered: Answered, client: Client, outside: Outside
) -> None:
    caller = client(deadline_s=60.0)
    waiting = [caller.submit({"drop": True}) for _ in range(3)]
    assert caller.call(1) == 2
    outside.delete(answered.replies)
    assert {type(future.exception(40)) for future in waiting} == {TopicMissing}


def test_a_topic_that_is_missing_is_named(client: Client) -> None:
    with pytest.raises(TopicMissing, match="no-such-topic"):
        client(replies="no-such-topic")


def test_pending_is_nothing_again_after_any_mix(client: Client) -> None:
    caller = client(silence_s=0.2, backoff_s=0.01)
    kinds = [3, {"drop": True}, {"code": "overloaded"}, {"twice": True}, {"foreign": True}, {"code": "invalid"}]
    futures = []
    for number in range(300):
        try:
            futures.append(caller.submit(kinds[number % len(kinds)], deadline_s=0.05 if number % 7 == 0 else 2.0))
        except CircuitOpen:
            continue
        if number % 11 == 0:
            futures[-1].cancel()
    assert not wait(futures, 20).not_done
    assert caller.counts().pending == 0


def test_a_client_is_of_no_use_in_a_forked_child_and_harms_nobody(answered: Answered) -> None:
    with answered.start("forking.py") as forking:
        said = forking.communicate(timeout=50)[0].splitlines()
    assert sorted(said) == [
        "child: 6",
        "child: the client belongs to the process that made it; make one after the fork",
        "child: the producer belongs to the process that made it; make one after the fork",
        "parent: 0, 4",
    ]


def test_b10_closing_waits_for_answers_that_are_on_their_way(answered: Answered, tmp_path: Path) -> None:
    with RequestReplyClient(**answered.options()) as caller:
        futures = [caller.submit(number) for number in range(500)]
    assert [future.result(0) for future in futures] == list(range(0, 1000, 2))
    with RequestReplyClient(**answered.options()) as caller:
        held = caller.submit({"hold": str(tmp_path / "never")})
        caller.close(0.2)
    with pytest.raises(ClientClosed):
        held.result(0)
    with pytest.raises(ClientClosed):
        caller.call(1)
