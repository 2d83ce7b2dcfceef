"""The client of an event loop and a replier by hand on a real Kafka."""

import asyncio
from pathlib import Path

import pytest

from pelton.deadline import Deadline
from pelton.errors import CallExpired, ClientClosed, InvalidRequest, TopicMissing
from pelton.producers.client import AsyncRequestReplyClient

from .answered import Answered


async def test_numbers_are_doubled_one_by_one_and_many_at_once(answered: Answered) -> None:
    async with AsyncRequestReplyClient(**answered.options()) as client:
        assert await client.call(4) == 8
        assert await asyncio.gather(*(client.call(number) for number in range(200))) == list(range(0, 400, 2))
        assert await client.call_many(range(3000)) == list(range(0, 6000, 2))
        assert await (await client.submit([1, 2], key="k")) == [2, 4]
        assert client.counts().pending == 0


async def test_errors_come_in_the_place_of_their_call(answered: Answered) -> None:
    async with AsyncRequestReplyClient(**answered.options(repeats=0)) as client:
        asked = [1, {"code": "invalid"}, float("inf"), {"drop": True}, 5]
        two, invalid, infinite, expired, ten = await client.call_many(asked, return_errors=True, deadline_s=2.0)
        assert (two, ten) == (2, 10)
        assert [invalid.code, infinite.code] == ["invalid", "not_finite"]
        assert isinstance(expired, CallExpired)
        with pytest.raises(InvalidRequest, match="asked for invalid"):
            await client.call_many(asked)
        assert client.counts().pending == 0


async def test_b38_a_task_that_is_cancelled_takes_its_call_back(answered: Answered, tmp_path: Path) -> None:
    async with AsyncRequestReplyClient(**answered.options()) as client:
        held = {"hold": str(tmp_path / "free")}
        tasks = [asyncio.create_task(client.call(held)) for _ in range(8)]
        deadline = Deadline.after(20.0)
        while len((await client.call({"seen": True}))["seen"]) < 9:
            assert not deadline.expired
        for task in tasks[:3]:
            task.cancel()
        while len((await client.call({"seen": True}))["cancelled"]) < 3:
            assert not deadline.expired
        (tmp_path / "free").touch()
        assert await asyncio.gather(*tasks[3:]) == ["free"] * 5
        assert all(task.cancelled() for task in tasks[:3])
        assert (client.counts().cancelled, client.counts().pending) == (3, 0)


async def test_b46_a_full_queue_is_awaited(answered: Answered) -> None:
    kafka = {"bootstrap.servers": answered.brokers, "queue.buffering.max.messages": 50}
    async with AsyncRequestReplyClient(**answered.options(kafka=kafka)) as client:
        answers = [await client.submit(number) for number in range(1000)]
        assert await asyncio.gather(*answers) == list(range(0, 2000, 2))


async def test_b10_closing_fails_what_is_not_answered(answered: Answered) -> None:
    client = await AsyncRequestReplyClient(**answered.options()).start()
    answer = await client.submit({"drop": True})
    await client.close(0.0)
    with pytest.raises(ClientClosed):
        await answer
    with pytest.raises(ClientClosed):
        await client.call(1)


async def test_the_loop_goes_on_while_a_client_starts_in_vain(answered: Answered) -> None:
    with pytest.raises(TopicMissing, match="no-such-topic"):
        async with AsyncRequestReplyClient(**answered.options(requests="no-such-topic")):
            pass


def test_a_client_belongs_to_one_loop(answered: Answered) -> None:
    client = asyncio.run(AsyncRequestReplyClient(**answered.options()).start())
    with pytest.raises(ClientClosed, match="loop"):
        asyncio.run(client.call(1))
    asyncio.run(client.close())
