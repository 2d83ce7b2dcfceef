"""The README's lines for callers are run as they stand, with topics of this test."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .answered import Answered
from .outside import Outside, Record

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
PAYMENTS = [{"payment_id": f"p-{number}", "amount": 2.5, "x": number} for number in range(20)]


def test_the_lines_for_callers_run(
    answered: Answered, topic_factory: Callable[..., str], outside: Outside, brokers: str
) -> None:
    (code,) = re.findall(r"(?ms)^```py\n(.*?)^```$", README)
    events, scores = topic_factory(2), topic_factory(2)
    source = {"topic": events, "partition": 0, "offset": 0}
    wire = {"event_id": "p-7", "model": "risk", "version": "1@ab", "source": source, "score": 0.25}
    outside.send(scores, Record(json.dumps(wire).encode(), b"p-7"))
    places = {
        "127.0.0.1:9092": brokers,
        "risk-requests": answered.requests,
        "risk-replies": answered.replies,
        "payments": events,
        "payment-scores": scores,
    }
    for name, place in places.items():
        code = code.replace(f'"{name}"', repr(place))
    space: dict[str, Any] = {"payments": PAYMENTS}
    exec(compile(code, "README.md", "exec"), space)
    assert (space["risk"], space["risks"]) == (0, [2 * number for number in range(20)])
    assert space["future"].result(0) == 0
    assert space["scores"] == {"p-7": 0.25}
    keys = sorted(message.key() for message in outside.read(events))
    assert keys == sorted(payment["payment_id"].encode() for payment in PAYMENTS)
    assert len(space["places"]) == 20
