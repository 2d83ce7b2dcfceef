"""Connects calls with their answers: what every kind of client is made of."""

import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from confluent_kafka import Consumer, Producer

from pelton.deadline import Deadline
from pelton.errors import CallCancelled, ClientClosed, KafkaFailure, PeltonError, SettingsError
from pelton.producers.ambient_trace import trace_headers
from pelton.producers.call_book import CallBook, Settled, one_more
from pelton.producers.call_counts import CallCounts
from pelton.producers.call_options import CallOptions, check_call
from pelton.producers.follow_up import FollowUp
from pelton.producers.forks import own_process_only
from pelton.producers.pending_calls import Call, CallIds
from pelton.producers.repeats import Repeats
from pelton.producers.reply_reader import ReplyReader
from pelton.producers.request_sender import RequestSender
from pelton.schemas.request import NORMAL_PRIORITY, RequestHead

log = structlog.get_logger(__name__)

WAIT_S = 0.02
FLUSH_S = 2.0


class Switchboard:
    """Sends calls, reads answers in a thread of its own, and hands what has ended to `deliver`, many at once."""

    def __init__(
        self,
        options: CallOptions,
        deliver: Callable[[list[Settled]], None],
        *,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
        make_consumer: Callable[[dict[str, Any]], Consumer] = Consumer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options, self._clock = options, clock
        self._ids = CallIds()
        self._book = CallBook(options.requests, deliver, clock)
        self._repeats = Repeats(options, self._book.latencies)
        self._reader = ReplyReader(options.properties, options.replies, make_consumer)
        self._sender = RequestSender(
            options.properties, options.requests, self._undelivered, self._break_down, make_producer, clock
        )
        self._follow_up = FollowUp(self._book, self._ids, self._sender, self._repeats, clock)
        self._refusal: PeltonError | None = ClientClosed("the client is not started")
        self._leave_at_s: float | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Lock()
        """Between a start and a close in two threads, as when a task is cancelled while it starts a client."""
        own_process_only(self)

    def connect(self, deadline: Deadline) -> None:
        """Take a place at the end of the replies.

        Raises SettingsError, TopicMissing, BrokerUnavailable, AccessDenied.
        """
        requests, replies = self.options.requests, self.options.replies
        self._sender.reach([requests, replies], deadline)
        if self.options.hedge and self._sender.n_partitions[requests] == 1:
            raise SettingsError(f"hedge: {requests} has one partition, so there is no second place to ask")
        self._reader.start(self._sender.n_partitions[replies], self.options.reply_partition, deadline)
        with self._ending:
            if self._leave_at_s is not None:
                raise ClientClosed("the client was closed while it started")
            self._refusal = None

    def start(self, deadline: Deadline) -> None:
        """Connect, and read answers from then on; see `connect`."""
        if self._thread is not None or self._leave_at_s is not None:
            raise ClientClosed("a client is started once")
        self.connect(deadline)
        with self._ending:
            if self._leave_at_s is None:
                self._thread = threading.Thread(target=self._run, name="pelton-replies", daemon=True)
                self._thread.start()

    def begin(
        self,
        value: bytes,
        waiter: Any,
        key: bytes | None = None,
        deadline_s: float | None = None,
        traceparent: bytes | None = None,
        priority: int = NORMAL_PRIORITY,
    ) -> Call:
        """Let a call wait for its answer; `send` it next.

        Raises ClientClosed, CircuitOpen, SettingsError for deadline or priority, or what has broken the client.
        """
        self._check_open()
        deadline_s = self.options.deadline_s if deadline_s is None else deadline_s
        check_call(deadline_s, priority)
        call_id, now_s, ends_ms = self._ids.new(), self._clock(), int((time.time() + deadline_s) * 1000)
        where = (self.options.replies, self._reader.partition)
        head = RequestHead(call_id, *where, ends_ms, priority, traceparent=traceparent)
        headers = head.headers() + (trace_headers() if traceparent is None else [])
        call = Call(call_id, value, key or call_id, headers, now_s, now_s + deadline_s, waiter)
        if self.options.hedge and key is None:
            call.partition = int.from_bytes(call_id[-4:]) % self._sender.n_partitions[self.options.requests]
        self._repeats.budget.earn()
        self._book.open(call, *self._repeats.after_sending(call, now_s))
        if self._refusal is not None and self._book.drop(call):
            self._check_open()
        return call

    def send(self, call: Call) -> bool:
        """Send a call; tells whether that is done with. If not, there was no room: try again in a moment.

        Raises InvalidRequest for one too large, KafkaFailure.
        """
        if self._book.pending.get(call.id) is not call:
            return True
        try:
            return self._sender.send(call, call.partition)
        except BaseException:
            self._book.drop(call)
            raise

    def now_s(self) -> float:
        """Return the time on the clock that deadlines are on."""
        return self._clock()

    def serve(self, timeout_s: float) -> None:
        """Serve delivery reports, which makes room."""
        self._sender.serve(timeout_s)

    def cancel(self, call: Call) -> None:
        """Take a call back, if it still waits, and tell the other side."""
        if self._book.fail(call, CallCancelled("the caller took the call back")):
            self._sender.send_cancel(call)
            self._book.hand_over()

    def expire(self, call: Call) -> None:
        """End a call whose deadline has come, if it still waits."""
        self._follow_up.expire(call)
        self._book.hand_over()

    def counts(self) -> CallCounts:
        """Return what became of the calls so far."""
        return self._book.numbers()

    def round(self, timeout_s: float = WAIT_S) -> None:
        """Read answers, serve delivery reports, and see to the calls whose time has come."""
        try:
            for call_id, message in self._reader.read(timeout_s):
                self._follow_up.answered(call_id, message)
        except KafkaFailure as failed:
            if self._reader.dead:
                self._refusal = failed
            self._book.fail_all(failed)
        self._sender.serve()
        if self.options.hedge:
            self._sender.look_again()
        self._follow_up.see_to_due()
        self._book.hand_over()

    def close(self, drain_s: float) -> None:
        """Wait for answers for `drain_s` seconds at most, take back what has none, and close the connections."""
        with self._ending:
            if self._leave_at_s is not None:
                return
            self._leave_at_s = self._clock() + drain_s
            self._refusal = self._refusal or ClientClosed("the client is closed")
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(drain_s + FLUSH_S)
        for call in self._book.fail_all(ClientClosed("the client was closed before the answer came")):
            self._sender.send_cancel(call)
        self._sender.flush(FLUSH_S)
        self._reader.close()

    def disown(self) -> None:
        """Refuse everything from now on, in a process that has only a copy of the connections."""
        self._refusal = ClientClosed("the client belongs to the process that made it; make one after the fork")
        self._leave_at_s, self._ending = 0.0, threading.Lock()  # whoever holds the old one is not here

    def _run(self) -> None:
        try:
            while self._leave_at_s is None or (len(self._book.pending) and self._clock() < self._leave_at_s):
                self.round()
        except BaseException as error:
            log.exception("reply_reader_ended")
            self._break_down(KafkaFailure(f"the reader of replies ended: {error!r}"))

    def _break_down(self, cause: KafkaFailure) -> None:
        self._refusal = self._refusal or cause
        self._book.fail_all(cause)

    def _undelivered(self, call: Call, error: PeltonError) -> None:
        self._follow_up.undelivered(call, error)

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise one_more(self._refusal)
