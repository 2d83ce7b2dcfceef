"""How long nothing has arrived of what is on its way."""

from types import SimpleNamespace

import pytest

from pelton.producers import under_way
from pelton.producers.under_way import UnderWay


def test_the_wait_begins_with_the_first_message_and_anew_with_each_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(under_way, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    sent = UnderWay()
    assert (sent.n, sent.waiting_s()) == (0, 0.0)
    sent.begin()
    clock.now_s = 103.0
    sent.begin()
    sent.begin()
    assert (sent.n, sent.waiting_s()) == (3, 3.0)
    sent.end(arrived=False)
    assert (sent.n, sent.waiting_s()) == (2, 3.0)
    sent.end(arrived=True)
    clock.now_s = 104.0
    assert (sent.n, sent.waiting_s()) == (1, 1.0)
    sent.end(arrived=True)
    clock.now_s = 110.0
    assert (sent.n, sent.waiting_s()) == (0, 0.0)
    sent.begin()
    assert sent.waiting_s() == 0.0
