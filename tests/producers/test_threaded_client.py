"""What waits for a call in a thread: told once, taken back, and gone without a trace."""

import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from typing import Any

import pytest

from pelton.errors import CallExpired, ClientClosed, InvalidRequest, KafkaFailure
from pelton.producers.call_errors import ERRORS
from pelton.producers.client import RequestReplyClient
from pelton.producers.reply_reader import ReplyReader
from pelton.producers.switchboard import Switchboard
from pelton.producers.threaded_client import CallFuture
from pelton.schemas.codes import CODES, Code
from pelton.testing import FakeKafka

OPTIONS: dict[str, Any] = {"kafka": "none", "requests": "requests", "replies": "replies"}


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"requests": 2, "replies": 1})


@pytest.fixture
def client(kafka: FakeKafka) -> Iterator[RequestReplyClient]:
    """A client on Kafka in memory, where nobody answers unless the test does."""

    made = RequestReplyClient(**OPTIONS, make_producer=kafka.producer, make_consumer=kafka.consumer)
    with made as client:
        yield client
        client.close(0.0)


def answer(kafka: FakeKafka, call_id: bytes, value: bytes) -> None:
    kafka.write("replies", value, headers=[("kafka_correlationId", call_id)])


def test_b37_call_returns_at_its_deadline(client: RequestReplyClient) -> None:
    with pytest.raises(CallExpired):
        client.call(1, deadline_s=0.05)
    assert client.counts().pending == 0


def test_b37_call_returns_at_its_deadline_whatever_the_reader_does(
    client: RequestReplyClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, go_on = threading.Event(), threading.Event()

    def hang(*_: Any) -> list[Any]:
        reads.set()
        go_on.wait(20)
        return []

    monkeypatch.setattr(ReplyReader, "read", hang)
    assert reads.wait(20)
    with pytest.raises(CallExpired):
        client.call(1, deadline_s=0.05)
    go_on.set()


def test_an_interrupt_while_waiting_takes_the_call_back(
    client: RequestReplyClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(CallFuture, "result", interrupt)
    with pytest.raises(KeyboardInterrupt):
        client.call(1)
    assert (client.counts().cancelled, client.counts().pending) == (1, 0)


def test_b46_a_queue_that_stays_full_ends_at_the_deadline(kafka: FakeKafka, client: RequestReplyClient) -> None:
    kafka.producers[0]._max_messages = 1
    kafka.stalled = {("requests", 0), ("requests", 1)}
    futures = [client.submit(number, deadline_s=0.1) for number in range(2)]
    assert [type(future.exception(20)) for future in futures] == [CallExpired, CallExpired]
    kafka.stalled = set()


def test_b38_what_is_cancelled_is_done_for_whoever_waits(client: RequestReplyClient, kafka: FakeKafka) -> None:
    first, second = client.submit(1), client.submit(2)
    assert first.cancel()
    assert first.call is not None
    assert second.call is not None
    answer(kafka, first.call.id, b'{"code":"ok","data":1}')
    answer(kafka, second.call.id, b'{"code":"ok","data":2}')
    assert wait([first, second], 20).not_done == set()
    assert second.result(0) == 2
    assert first.cancel()  # once more changes nothing
    assert not second.cancel()
    with pytest.raises(CancelledError):
        first.result(0)
    assert client.counts().cancelled == 1


def test_a_call_that_has_ended_leaves_nothing_to_the_garbage_collector(
    client: RequestReplyClient, kafka: FakeKafka
) -> None:
    gc.disable()
    try:
        future = client.submit({"x": 1})
        assert future.call is not None
        answer(kafka, future.call.id, b'{"code":"ok","data":1}')
        assert future.result(20) == 1
        trace = weakref.ref(future)
        client.submit(0).cancel()  # librdkafka's fake lets go of the report before
        del future
        assert trace() is None
    finally:
        gc.enable()


def test_a_reader_that_ends_by_itself_fails_everyone_who_waits_and_who_comes(
    client: RequestReplyClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    futures = [client.submit(number) for number in range(3)]

    def explode(*_: Any) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(ReplyReader, "read", explode)
    for future in futures:
        with pytest.raises(KafkaFailure, match="no more"):
            future.result(20)
    with pytest.raises(KafkaFailure, match="no more"):
        client.call(1)


def test_a_client_that_was_not_started_says_so(kafka: FakeKafka) -> None:
    client = RequestReplyClient(**OPTIONS)
    with pytest.raises(ClientClosed, match="not started"):
        client.call(1)
    client.close()
    with pytest.raises(ClientClosed, match="started once"):
        client.start()


def test_a_client_is_started_once(client: RequestReplyClient) -> None:
    with pytest.raises(ClientClosed, match="started once"):
        client.start()


@pytest.mark.parametrize("step", [(Switchboard, "connect"), (ReplyReader, "start")])
@pytest.mark.parametrize("before", [True, False])
def test_one_that_is_closed_while_it_starts_stays_closed(
    kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch, step: tuple[type, str], before: bool
) -> None:
    """As by a task that is cancelled meanwhile: nobody would read answers, nor end a call at its deadline."""
    client = RequestReplyClient(**OPTIONS, make_producer=kafka.producer, make_consumer=kafka.consumer)
    take = getattr(*step)

    def closed_meanwhile(*arguments: Any) -> None:
        if before:
            client.close(0.0)
        take(*arguments)
        client.close(0.0)

    monkeypatch.setattr(*step, closed_meanwhile)
    with suppress(ClientClosed):
        client.start()
    with pytest.raises(ClientClosed):
        client.call(1)
    assert "pelton-replies" not in [thread.name for thread in threading.enumerate()]


def test_the_errors_are_those_of_the_table() -> None:
    assert set(ERRORS) == set(Code) - {Code.OK}
    assert {code: kind.retriable for code, kind in ERRORS.items()} == {
        code: info.retriable for code, info in CODES.items() if code is not Code.OK
    }
    assert all(kind("x").code in list(Code) for kind in ERRORS.values())


def test_many_stop_at_the_first_error_and_take_the_rest_back(client: RequestReplyClient) -> None:
    with pytest.raises(InvalidRequest, match="not_finite"):
        client.call_many([float("nan"), 2, 3])
    assert client.counts().pending == 0
    errors = client.call_many([float("nan"), 2], return_errors=True, deadline_s=0.05)
    assert [type(error) for error in errors] == [InvalidRequest, CallExpired]
