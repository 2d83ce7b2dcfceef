"""The page on dead letters is run: its code reads and replays what a served model has set aside."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .conftest import Serve
from .outside import Outside, Record, event

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "dead-letters.md").read_text()


def page() -> SimpleNamespace:
    space: dict[str, Any] = {}
    exec("\n".join(re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)), space)
    return SimpleNamespace(**space)


def test_the_replay_of_the_page_sends_what_was_asked_for_and_sends_it_once(serve: Serve, outside: Outside) -> None:
    served = serve(partitions=2)
    headers = [("traceparent", b"00-1"), ("seen", b"\xc3\x28")]
    outside.send(
        served.source, Record(b"?", b"k", headers, 1), Record(b'{"x": "2"}', b"j", (), 0), Record(event(3), partition=0)
    )
    served.eventually(lambda: outside.finished(served.group, served.source))
    replay = page().replay
    assert replay(outside.brokers, served.dead_letter, {"malformed"}, silence_s=3.0) == 1
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert replay(outside.brokers, served.dead_letter, {"invalid"}, silence_s=3.0) == 0
    found = [message for message in outside.read(served.source) if message.value() == b"?"]
    assert [(m.partition(), m.key(), m.headers()) for m in found] == [(1, b"k", headers)] * 2
    letters = [dict(m.headers()) for m in outside.read(served.dead_letter) if m.value() == b"?"]
    assert sorted(told["__connect.errors.offset"] for told in letters) == [b"0", b"1"]
    assert all(told["seen"] == b"\xc3\x28" for told in letters)
