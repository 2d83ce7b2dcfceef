"""Clients and a replier by hand on a real Kafka."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pelton.deadline import Deadline
from pelton.errors import CallExpired, CircuitOpen, InvalidRequest, TopicMissing, UnreadableReply
from pelton.producers.client import RequestReplyClient

HERE = Path(__file__).parent


class Answered(NamedTuple):
    """A request topic that is answered, a reply topic, and a maker of clients."""

    brokers: str
    requests: str
    replies: str
    client: Callable[..., RequestReplyClient]

    def start(self, script: str, *arguments: object) -> "subprocess.Popen[str]":
        return _start(script, self.brokers, self.requests, self.replies, *arguments)


def _start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def answered(brokers: str, topic_factory: Callable[..., str]) -> Iterator[Answered]:
    """Four partitions each of requests and replies, and a replier that reads already."""
    requests, replies = topic_factory(4, prefix="requests"), topic_factory(4, prefix="replies")
    with ExitStack() as stack:
        echo = stack.enter_context(_start("echo.py", brokers, requests))
        stack.callback(lambda: echo.stdin and echo.stdin.close())
        assert echo.stdout is not None
        assert echo.stdout.readline() == "ready\n"

        def client(**options: Any) -> RequestReplyClient:
            chosen = {"kafka": brokers, "requests": requests, "replies": replies, "deadline_s": 30.0} | options
            return stack.enter_context(RequestReplyClient(**chosen))

        yield Answered(brokers, requests, replies, client)


def test_numbers_are_doubled_one_by_one_and_many_at_once(answered: Answered) -> None:
    client = answered.client()
    assert [client.call(number) for number in range(5)] == [0, 2, 4, 6, 8]
    assert client.call([1, 2, 3]) == [2, 4, 6]
    assert client.call_many(iter(range(3000))) == [2 * number for number in range(3000)]
    assert client.submit(21, key="k").result(30) == 42
    assert client.counts().pending == 0


def test_errors_come_by_code_in_the_place_of_their_call(answered: Answered) -> None:
    client = answered.client(repeats=0)
    asked = [1, {"code": "invalid"}, {"raw": "no json"}, float("nan"), 5]
    one, invalid, unreadable, not_finite, five = client.call_many(asked, return_errors=True)
    assert (one, five) == (2, 10)
    assert (type(invalid), invalid.code, invalid.trace_id) == (InvalidRequest, "invalid", "t-1")
    assert isinstance(unreadable, UnreadableReply)
    assert (type(not_finite), not_finite.code) == (InvalidRequest, "not_finite")
    with pytest.raises(InvalidRequest, match="asked for invalid"):
        client.call_many(asked)
    assert client.counts().pending == 0


def test_b44_a_request_whose_answer_is_lost_is_repeated_under_its_id(answered: Answered) -> None:
    client = answered.client(silence_s=0.3)
    assert client.call({"x": 4, "drop": True, "times": 2}) == 8
    assert client.call({"x": 5, "code": "overloaded", "times": 1}) == 10
    assert sorted(client.call({"seen": True})["seen"].values()) == [1, 2, 3]


def test_b35_strange_late_and_double_answers_are_counted_and_nothing_else(answered: Answered) -> None:
    client = answered.client(repeats=0)
    asked = [{"x": 1, "twice": True}, {"x": 2, "foreign": True}, {"drop": True}, 4]
    two, four, expired, eight = client.call_many(asked, deadline_s=2.0, return_errors=True)
    assert (two, four, eight) == (2, 4, 8)
    assert isinstance(expired, CallExpired)
    counts = client.counts()
    assert (counts.late, counts.foreign, counts.expired, counts.pending) == (1, 1, 1, 0)


@pytest.mark.timeout(120, func_only=True)
def test_b35_two_clients_share_topics_while_one_is_killed_and_comes_back(answered: Answered) -> None:
    client = answered.client(reply_partition=1)
    mine: list[Any] = []
    asking = threading.Thread(target=lambda: mine.extend(client.call(number) for number in range(500)))
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
    assert (json.loads(counts)["pending"], client.counts().pending) == (0, 0)


def test_b38_a_future_that_is_cancelled_is_told_to_the_other_side(answered: Answered, tmp_path: Path) -> None:
    client = answered.client()
    futures = [client.submit({"hold": str(tmp_path / "free")}) for _ in range(8)]
    assert all(future.cancel() for future in futures[:3])
    deadline = Deadline.after(20.0)
    while len(client.call({"seen": True})["cancelled"]) < 3:
        assert not deadline.expired
    (tmp_path / "free").touch()
    assert [future.result(20) for future in futures[3:]] == ["free"] * 5
    assert all(future.cancelled() for future in futures[:3])
    assert client.counts().pending == 0


def test_b46_more_calls_than_the_producer_holds_wait_instead_of_failing(answered: Answered) -> None:
    client = answered.client(kafka={"bootstrap.servers": answered.brokers, "queue.buffering.max.messages": 100})
    futures = [client.submit(number) for number in range(5000)]
    assert [future.result(60) for future in futures] == [2 * number for number in range(5000)]


def test_a_topic_that_is_missing_is_named(answered: Answered) -> None:
    with pytest.raises(TopicMissing, match="no-such-topic"):
        answered.client(replies="no-such-topic")


def test_pending_is_nothing_again_after_any_mix(answered: Answered) -> None:
    client = answered.client(silence_s=0.2, backoff_s=0.01)
    kinds = [3, {"drop": True}, {"code": "overloaded"}, {"twice": True}, {"foreign": True}, {"code": "invalid"}]
    futures = []
    for number in range(300):
        try:
            futures.append(client.submit(kinds[number % len(kinds)], deadline_s=0.05 if number % 7 == 0 else 2.0))
        except CircuitOpen:
            continue
        if number % 11 == 0:
            futures[-1].cancel()
    assert not wait(futures, 20).not_done
    assert client.counts().pending == 0
