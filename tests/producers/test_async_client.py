"""What awaits a call on an event loop: told once, taken back, and never complained of."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pelton.deadline import Deadline
from pelton.errors import CallExpired, InvalidRequest
from pelton.producers.client import AsyncRequestReplyClient
from pelton.testing import FakeKafka

OPTIONS: dict[str, Any] = {"kafka": "none", "requests": "requests", "replies": "replies"}


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"requests": 2, "replies": 1})


@pytest.fixture
async def complaints() -> list[Any]:
    """What the event loop would have printed."""
    found: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: found.append(context))
    return found


@pytest.fixture
async def client(kafka: FakeKafka) -> AsyncIterator[AsyncRequestReplyClient]:
    """A client on Kafka in memory, where nobody answers unless the test does."""

    made = AsyncRequestReplyClient(**OPTIONS, make_producer=kafka.producer, make_consumer=kafka.consumer)
    async with made as client:
        yield client
        await client.close(0.0)


def block_until(holds: Callable[[], bool]) -> None:
    """Keep the event loop busy until something holds that another thread brings about."""
    deadline = Deadline.after(20.0)
    while not holds():
        assert not deadline.expired
        time.sleep(0.001)


def answer_all(kafka: FakeKafka, value: bytes) -> None:
    for request in kafka.read("requests"):
        call_id = dict(request.headers())["kafka_correlationId"]
        kafka.write("replies", value, headers=[("kafka_correlationId", call_id)])


async def test_b38_an_answer_to_a_cancelled_future_keeps_no_other_from_its_own(
    client: AsyncRequestReplyClient, kafka: FakeKafka, complaints: list[Any]
) -> None:
    answers = [await client.submit(number) for number in range(3)]
    block_until(lambda: len(kafka.read("requests")) == 3)
    answers[0].cancel()  # told to the client once the loop comes round, which is after the answers
    answer_all(kafka, b'{"code":"ok","data":1}')
    block_until(lambda: client.counts().answered == 3)
    assert await asyncio.wait_for(asyncio.gather(*answers[1:]), 20) == [1, 1]
    assert answers[0].cancelled()
    assert complaints == []


async def test_errors_nobody_looks_at_are_not_complained_of(
    client: AsyncRequestReplyClient, kafka: FakeKafka, complaints: list[Any]
) -> None:
    many = asyncio.create_task(client.call_many(range(5)))
    await asyncio.sleep(0)  # all of them are sent
    block_until(lambda: len(kafka.read("requests")) == 5)
    answer_all(kafka, b'{"code":"invalid","error":"no"}')
    block_until(lambda: client.counts().failed == 5)
    await asyncio.wait([many], timeout=20)
    assert isinstance(many.exception(), InvalidRequest)
    del many
    gc.collect()
    assert complaints == []
    assert client.counts().pending == 0


async def test_b37_the_caller_hears_at_its_deadline(client: AsyncRequestReplyClient) -> None:
    with pytest.raises(CallExpired):
        await asyncio.wait_for(client.call(1, deadline_s=0.05), 20)


async def test_b46_a_queue_that_stays_full_ends_at_the_deadline(
    client: AsyncRequestReplyClient, kafka: FakeKafka
) -> None:
    kafka.producers[0]._max_messages = 1
    kafka.stalled = {("requests", 0), ("requests", 1)}
    answers = [await client.submit(number, deadline_s=0.1) for number in range(2)]
    errors = await asyncio.wait_for(asyncio.gather(*answers, return_exceptions=True), 20)
    assert [type(error) for error in errors] == [CallExpired, CallExpired]
    waits = asyncio.create_task(client.submit(3))
    await asyncio.sleep(0)
    waits.cancel()
    await asyncio.wait([waits], timeout=20)
    assert (client.counts().pending, client.counts().cancelled) == (0, 1)
    kafka.stalled = set()
