"""A caller that asks too often is told so, and costs nothing."""

from types import SimpleNamespace
from typing import Any, cast

from pelton.consumers.calls import Call
from pelton.consumers.quota import Quota
from pelton.consumers.repeats import Repeats
from pelton.metrics import Metrics
from pelton.reception import Fate, Reception
from pelton.schemas.codes import Code
from pelton.schemas.rejection import Rejection
from pelton.schemas.request import RequestHead
from pelton.schemas.request_codec import Question


def test_beyond_its_limit_a_request_is_answered_without_being_read() -> None:
    read: list[bytes] = []
    codec = SimpleNamespace(decode=lambda value: read.append(value) or Question([1], single=True))
    topics = SimpleNamespace(allows=lambda _: True)
    repeats = Repeats(60, 10, 1000)
    reception = Reception(cast(Any, codec), repeats, cast(Any, topics), Metrics(), Quota(2))

    def ask(correlation_id: bytes, topic: str = "mine") -> Any:
        forever_s = float("inf")
        return reception.receive(Call(RequestHead(correlation_id, topic), ("ask", 0), 1, 0, 0.0, forever_s), b"{}")

    assert [ask(b"1"), ask(b"2")] == [Fate.TO_MODEL] * 2
    refused = ask(b"3")
    assert isinstance(refused, Rejection)
    assert refused.code is Code.RATE_LIMITED
    assert ask(b"3", "theirs") is Fate.TO_MODEL
    assert (len(read), len(repeats)) == (3, 3)
