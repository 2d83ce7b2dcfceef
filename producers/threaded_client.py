"""Ask over Kafka and wait for the answer, from any number of threads."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

from confluent_kafka import Consumer, Producer

from pelton.deadline import Deadline
from pelton.errors import PeltonError
from pelton.producers.call_book import Settled
from pelton.producers.call_counts import CallCounts
from pelton.producers.call_options import CallDetails, CallOptions, OptionsOfCalls
from pelton.producers.pending_calls import Call
from pelton.producers.request_body import as_bytes, encode_request
from pelton.producers.switchboard import Switchboard
from pelton.schemas.request import NORMAL_PRIORITY

DRAIN_S = 5.0
FULL_S = 0.02
GRACE_S = 1.0


class CallFuture(Future[Any]):
    """What a call will be answered; `cancel` takes the call back, and tells the other side."""

    def __init__(self, board: Switchboard) -> None:
        super().__init__()
        self._board = board
        self.call: Call | None = None

    def cancel(self) -> bool:
        """Take the call back, unless its answer has come; tells whether it is."""
        done = super().cancel()
        if done and self.call is not None:
            self._board.cancel(self.call)
        return done


class RequestReplyClient:
    """Scores events by sending them to a request topic and reading the answers from a reply topic.

    Arguments are those of `CallOptions`, and what makes its connections (`pelton.testing.FakeKafka` has fakes). One
    client serves any number of threads; many clients may share both topics.

        with RequestReplyClient(kafka="127.0.0.1:9092", requests="risk-requests", replies="risk-replies") as client:
            score = client.call({"payment_id": "p-3", "amount": 250.0, "payments_today": 9}, deadline_s=2.0)
            scores = client.call_many(payments)

    Raises SettingsError for options that cannot work.
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
            CallOptions(**options), _deliver, make_producer=make_producer, make_consumer=make_consumer
        )

    def start(self) -> Self:
        """Connect, and return once no answer can be missed: the place in the replies is taken.

        Raises SettingsError, TopicMissing, AccessDenied, or BrokerUnavailable after `start_s` seconds.
        """
        self._board.start(Deadline.after(self._start_s))
        return self

    def close(self, drain_s: float = DRAIN_S) -> None:
        """Wait for answers for `drain_s` seconds at most, take back what has none (ClientClosed), and disconnect."""
        self._board.close(drain_s)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close(0.0)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close(DRAIN_S if error is None else 0.0)

    def call(self, inputs: Any, **details: Unpack[CallDetails]) -> Any:
        """Return the score of one event, or a list of scores for a list; takes what `submit` takes.

        Raises CallError (InvalidRequest, Overloaded, CallExpired, …) or KafkaFailure, at the deadline at the latest.
        """
        future = self.submit(inputs, **details)
        assert future.call is not None
        try:
            return future.result(max(0.0, future.call.until_s - self._board.now_s()))
        except TimeoutError:
            self._board.expire(future.call)
            return future.result(GRACE_S)  # who ended the call a moment before us is telling now
        except BaseException:
            future.cancel()  # an interrupt: nobody waits any more
            raise

    def submit(
        self,
        inputs: Any,
        *,
        model: str | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | bytes | None = None,
        deadline_s: float | None = None,
        traceparent: str | bytes | None = None,
        priority: int = NORMAL_PRIORITY,
    ) -> CallFuture:
        """Send one event, or a list of them, and return the future of its score.

        `model` is `name` or `name@version`. Calls of one `key` go to one partition. `deadline_s` is how many seconds
        the answer is waited for: 10 unless told, 600 at most. Of calls that queue the highest `priority` (0 to 9) goes
        first. While the producer's queue is full this waits. The future raises what `call` raises; its callbacks run in
        the thread that reads answers: keep them short. Raises InvalidRequest, CircuitOpen, ClientClosed, or
        SettingsError for a deadline or priority that cannot be.
        """
        future = CallFuture(self._board)
        value = encode_request(inputs, model, params)
        told = (as_bytes(key), deadline_s, as_bytes(traceparent), priority)
        future.call = call = self._board.begin(value, future, *told)
        while not self._board.send(call):
            self._board.serve(FULL_S)
            if self._board.now_s() >= call.until_s:
                self._board.expire(call)
        return future

    @overload
    def call_many(
        self, inputs: Iterable[Any], *, return_errors: Literal[False] = False, **details: Unpack[CallDetails]
    ) -> list[Any]: ...
    @overload
    def call_many(
        self, inputs: Iterable[Any], *, return_errors: bool, **details: Unpack[CallDetails]
    ) -> list[Any | PeltonError]: ...
    def call_many(
        self, inputs: Iterable[Any], *, return_errors: bool = False, **details: Unpack[CallDetails]
    ) -> list[Any]:
        """Return the score of each event, in order, with up to `most_pending` calls on their way at once.

        `inputs` may be a generator; `details` are those of `submit`, for each call. With `return_errors` an error takes
        the place of the score. Without, the first error in order is raised, and what is on its way is taken back.

            for payment, score in zip(payments, client.call_many(payments, return_errors=True)): ...
        """
        results: list[Any] = []
        waiting: deque[CallFuture | PeltonError] = deque()
        try:
            for event in inputs:
                if len(waiting) >= self._board.options.most_pending:
                    results.append(_outcome(waiting.popleft(), return_errors))
                waiting.append(self._try_submit(event, details))
                if isinstance(waiting[-1], PeltonError) and not return_errors:
                    break
            while waiting:
                results.append(_outcome(waiting.popleft(), return_errors))
        finally:
            for future in waiting:
                if isinstance(future, CallFuture):
                    future.cancel()
        return results

    def counts(self) -> CallCounts:
        """Return what became of the calls so far."""
        return self._board.counts()

    def _try_submit(self, event: Any, details: CallDetails) -> CallFuture | PeltonError:
        try:
            return self.submit(event, **details)
        except PeltonError as error:
            return error


def _outcome(waited: CallFuture | PeltonError, return_errors: bool) -> Any:
    try:
        if isinstance(waited, PeltonError):
            raise waited
        return waited.result()
    except PeltonError as error:
        if not return_errors:
            raise
        return error


def _deliver(ended: list[Settled]) -> None:
    for call, data, error in ended:
        future, call.waiter = call.waiter, None  # no cycle: half of a call's cost was the garbage collector's
        if not future.set_running_or_notify_cancel():
            continue  # its caller took it back
        if error is None:
            future.set_result(data)
        else:
            future.set_exception(error)
