"""Ask over Kafka and await the answer, on an event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from confluent_kafka import Consumer, Producer

from pelton.deadline import Deadline
from pelton.errors import ClientClosed, PeltonError
from pelton.producers.call_book import Settled
from pelton.producers.call_counts import CallCounts
from pelton.producers.call_options import CallDetails, CallOptions, OptionsOfCalls
from pelton.producers.request_body import as_bytes, encode_request
from pelton.producers.switchboard import Switchboard
from pelton.producers.threaded_client import DRAIN_S
from pelton.schemas.request import NORMAL_PRIORITY

FULL_S = 0.005

Answer = asyncio.Future[Any]


class AsyncRequestReplyClient:
    """Scores events as `RequestReplyClient` does, for the one event loop it was started on.

    Arguments are those of `CallOptions`.

        async with AsyncRequestReplyClient(kafka="127.0.0.1:9092", requests="risk", replies="risk-replies") as client:
            score = await client.call({"payment_id": "p-3", "amount": 250.0, "payments_today": 9}, deadline_s=2.0)
            scores = await client.call_many(payments)

    A task that is cancelled while it awaits `call` takes the call back, and the other side is told. Raises
    SettingsError for options that cannot work.
    """

    def __init__(
        self,
        *,
        start_s: float = 10.0,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
        make_consumer: Callable[[dict[str, Any]], Consumer] = Consumer,
        **options: Unpack[OptionsOfCalls],
    ) -> None:
        self._start_s = start_s
        self._board = Switchboard(
            CallOptions(**options), self._deliver, make_producer=make_producer, make_consumer=make_consumer
        )
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> Self:
        """Connect, and return once no answer can be missed; raises as `RequestReplyClient.start`."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._board.start, Deadline.after(self._start_s))
        return self

    async def close(self, drain_s: float = DRAIN_S) -> None:
        """Wait for answers for `drain_s` seconds at most, take back what has none (ClientClosed), and disconnect."""
        await asyncio.to_thread(self._board.close, drain_s)

    async def __aenter__(self) -> Self:
        try:
            return await self.start()
        except BaseException:
            await self.close(0.0)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close(DRAIN_S if error is None else 0.0)

    async def call(self, inputs: Any, **details: Unpack[CallDetails]) -> Any:
        """Return the score of one event, or a list of scores for a list; takes what `submit` takes.

        Raises CallError (InvalidRequest, Overloaded, CallExpired, …) or KafkaFailure, at the deadline at the latest.
        """
        return await (await self.submit(inputs, **details))

    async def submit(
        self,
        inputs: Any,
        *,
        model: str | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | bytes | None = None,
        deadline_s: float | None = None,
        traceparent: str | bytes | None = None,
        priority: int = NORMAL_PRIORITY,
    ) -> Answer:
        """Send one event, or a list of them, and return the future of its score; details as in `RequestReplyClient`.

        Awaits room when the producer's queue is full. Raises InvalidRequest, CircuitOpen or ClientClosed.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            raise ClientClosed("the client was started on another event loop, or not at all")
        value, answer = encode_request(inputs, model, params), loop.create_future()
        call = self._board.begin(value, answer, as_bytes(key), deadline_s, as_bytes(traceparent), priority)
        answer.add_done_callback(lambda done: self._board.cancel(call) if done.cancelled() else None)
        try:
            while not self._board.send(call):
                await asyncio.sleep(FULL_S)
                if self._board.now_s() >= call.until_s:
                    self._board.expire(call)
        except asyncio.CancelledError:
            answer.cancel()
            raise
        return answer

    @overload
    async def call_many(
        self, inputs: Iterable[Any], *, return_errors: Literal[False] = False, **details: Unpack[CallDetails]
    ) -> list[Any]: ...
    @overload
    async def call_many(
        self, inputs: Iterable[Any], *, return_errors: bool, **details: Unpack[CallDetails]
    ) -> list[Any | PeltonError]: ...
    async def call_many(
        self, inputs: Iterable[Any], *, return_errors: bool = False, **details: Unpack[CallDetails]
    ) -> list[Any]:
        """Return the score of each event, in order, with up to `most_pending` calls on their way at once.

        `details` are those of `submit`, for each call. With `return_errors` an error takes the place of the score.
        Without, the first error in order is raised, and what is on its way is taken back.
        """
        results: list[Any] = []
        waiting: deque[Answer] = deque()
        try:
            for event in inputs:
                if len(waiting) >= self._board.options.most_pending:
                    results.append(await _outcome(waiting.popleft(), return_errors))
                waiting.append(await self._try_submit(event, details))
                if waiting[-1].done() and waiting[-1].exception() and not return_errors:
                    break
            while waiting:
                results.append(await _outcome(waiting.popleft(), return_errors))
        finally:
            for answer in waiting:
                answer.cancel()  # this also tells asyncio that an error in it needs no complaint
        return results

    def counts(self) -> CallCounts:
        """Return what became of the calls so far."""
        return self._board.counts()

    async def _try_submit(self, event: Any, details: CallDetails) -> Answer:
        try:
            return await self.submit(event, **details)
        except PeltonError as error:
            failed: Answer = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed

    def _deliver(self, ended: list[Settled]) -> None:
        with suppress(RuntimeError):  # the loop has been closed: nobody is left to be told
            if self._loop is not None:
                self._loop.call_soon_threadsafe(_settle, ended)


def _settle(ended: list[Settled]) -> None:
    for call, data, error in ended:
        answer: Answer = call.waiter
        call.waiter = None  # no cycle
        if answer.done():
            continue  # its caller took it back
        if error is None:
            answer.set_result(data)
        else:
            answer.set_exception(error)


async def _outcome(answer: Answer, return_errors: bool) -> Any:
    try:
        return await answer
    except PeltonError as error:
        if not return_errors:
            raise
        return error
