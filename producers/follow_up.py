"""What happens to a call once it has been sent: answers, failures, and time passing."""

from collections.abc import Callable

from confluent_kafka import Message

from pelton.errors import CallExpired, PeltonError, UnreadableReply
from pelton.producers.call_book import CallBook
from pelton.producers.call_errors import error_of
from pelton.producers.pending_calls import Call, CallIds, Step
from pelton.producers.repeats import Repeats
from pelton.producers.request_sender import RequestSender
from pelton.schemas.codes import Code
from pelton.schemas.reply import decode_reply

FULL_S = 0.05
"""Seconds until a repeat is tried again for which the producer had no room."""


class FollowUp:
    """Ends calls or sends them again; for the thread that reads answers, `undelivered` for any."""

    def __init__(
        self, book: CallBook, ids: CallIds, sender: RequestSender, repeats: Repeats, clock: Callable[[], float]
    ) -> None:
        self._book, self._ids, self._sender, self._repeats, self._clock = book, ids, sender, repeats, clock

    def answered(self, call_id: bytes | None, message: Message) -> None:
        """Take an answer, which may be to nobody's question."""
        call = self._book.pending.get(call_id) if call_id else None
        if call is None:
            self._book.note_stray(ours=call_id is not None and self._ids.owns(call_id))
            return
        try:
            reply = decode_reply(message.value())
        except ValueError as error:
            self._book.fail(call, UnreadableReply(str(error)))
            return
        if reply.code is Code.OK:
            self._book.answer(call, reply.data)
        else:
            self._failed(call, error_of(reply))

    def undelivered(self, call: Call, error: PeltonError) -> None:
        """Take the news that a request did not reach the broker."""
        self._failed(call, error)
        self._book.hand_over()

    def see_to_due(self) -> None:
        """Do what is due now."""
        for call in self._book.pending.due():
            if self._book.pending.get(call.id) is call:
                self._see_to(call, self._clock())

    def expire(self, call: Call) -> None:
        """End a call that got no answer in time, if it still waits."""
        last = self._sender.last_word(call.began_s)
        also = f"; Kafka's last word: {last}" if last else ""
        self._book.fail(call, CallExpired(f"no answer within {call.until_s - call.began_s:g} s{also}"))

    def _failed(self, call: Call, error: PeltonError) -> None:
        if error.retriable and call.step is Step.REPEAT:
            return  # a second answer to the same trouble: its repeat is planned
        again_s = self._repeats.after_failure(call, error, self._clock())
        if again_s is None:
            self._book.fail(call, error)
        else:
            self._book.pending.put_off(call, again_s, Step.REPEAT)

    def _see_to(self, call: Call, now_s: float) -> None:
        if now_s >= call.until_s:
            self.expire(call)
        elif call.step is Step.HEDGE:
            self._hedge(call, now_s)
        elif call.step is Step.REPEAT or self._repeats.may_repeat(call, now_s):
            self._repeat(call, now_s)
        else:
            self._book.pending.put_off(call, *self._repeats.after_sending(call, now_s))

    def _repeat(self, call: Call, now_s: float) -> None:
        if not self._send(call, call.partition):
            self._book.pending.put_off(call, min(call.until_s, now_s + FULL_S), Step.REPEAT)
            return
        call.repeats += 1
        self._book.counts.repeated += 1
        self._book.pending.put_off(call, *self._repeats.after_sending(call, now_s))

    def _hedge(self, call: Call, now_s: float) -> None:
        elsewhere = self._sender.another_partition(call.partition)
        call.hedged_to = call.partition  # once only, whether there was a permit or not
        if self._repeats.budget.spend() and self._send(call, elsewhere):
            call.hedged_to = elsewhere
            self._book.counts.hedged += 1
        self._book.pending.put_off(call, *self._repeats.after_sending(call, now_s))

    def _send(self, call: Call, partition: int) -> bool:
        try:
            return self._sender.send(call, partition)
        except PeltonError as error:
            return self._book.fail(call, error)
