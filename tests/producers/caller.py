"""A client's switchboard on Kafka in memory, with time and answers in the test's hand."""

import json
import struct
from typing import Any

from pelton.deadline import Deadline
from pelton.errors import PeltonError
from pelton.producers.call_book import Settled
from pelton.producers.call_options import CallOptions
from pelton.producers.pending_calls import Call
from pelton.producers.request_body import encode_request
from pelton.producers.switchboard import Switchboard
from pelton.testing import FakeKafka


class Caller:
    """Nothing happens by itself: `pass_time` moves the clock, `turn` lets the switchboard look round."""

    def __init__(
        self, *, requests: int = 4, replies: int = 1, topics: Any = None, before: int = 0, **options: Any
    ) -> None:
        self.kafka = FakeKafka({"requests": requests, "replies": replies})
        for _ in range(before):
            self.kafka.write("replies", b"old", headers=[("kafka_correlationId", b"old")])
        self.now_s = 1000.0
        self.ended: dict[bytes, Settled] = {}
        self.told: list[bytes] = []
        self.board = Switchboard(
            CallOptions(**{"kafka": "none", "requests": "requests", "replies": "replies"} | options | (topics or {})),
            self._deliver,
            make_producer=self.kafka.producer,
            make_consumer=self.kafka.consumer,
            clock=lambda: self.now_s,
        )
        self.board.connect(Deadline.after(5.0))

    def _deliver(self, ended: list[Settled]) -> None:
        for settled in ended:
            self.told.append(settled.call.id)
            self.ended[settled.call.id] = settled

    def call(self, inputs: Any = 1, **details: Any) -> Call:
        """Begin a call and send it."""
        call = self.board.begin(encode_request(inputs), None, **details)
        assert self.board.send(call)
        self.turn()
        return call

    def turn(self) -> None:
        self.board.round(0)

    def pass_time(self, seconds: float, step_s: float = 0.01) -> None:
        """Let time pass, a hundredth of a second at a time, as a client's thread would see it."""
        end_s = self.now_s + seconds
        while self.now_s < end_s - 1e-9:
            self.now_s += min(step_s, end_s - self.now_s)
            self.turn()

    def requests(self, call: Call, *, cancels: bool = False) -> list[Any]:
        """Return the records of the request topic that have a call's id."""
        found = [(message, dict(message.headers())) for message in self.kafka.read("requests")]
        return [
            message
            for message, headers in found
            if headers["kafka_correlationId"] == call.id and ("pelton-cancel" in headers) is cancels
        ]

    def reply(self, call_id: bytes | None, value: Any, partition: int = 0) -> None:
        """Write a record into the reply topic, as another program would, and let the client see it."""
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        headers = [] if call_id is None else [("kafka_correlationId", call_id)]
        self.kafka.write("replies", text, partition=partition, headers=headers)
        self.turn()

    def score(self, call: Call, data: Any) -> None:
        self.reply(call.id, {"code": "ok", "data": data, "trace_id": "t"})

    def refuse(self, call: Call, code: str) -> None:
        self.reply(call.id, {"code": code, "error": "no", "trace_id": "t-9"})

    def data(self, call: Call) -> Any:
        """Return what a call was answered; it must have ended well."""
        assert self.ended[call.id].error is None, self.ended[call.id].error
        return self.ended[call.id].data

    def error(self, call: Call) -> PeltonError:
        """Return the error a call ended with."""
        error = self.ended[call.id].error
        assert error is not None
        return error


def int32(number: int) -> bytes:
    return struct.pack(">i", number)
