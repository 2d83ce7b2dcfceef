"""A group that reads only what is new, stopped before its first commit."""

from collections.abc import Callable

import pytest

from .conftest import Serve, settings_for
from .outside import Outside, Record, event


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_what_came_while_nobody_ran_is_scored_though_nothing_was_before(
    serve: Serve, outside: Outside, topic_factory: Callable[..., str], delivery: str
) -> None:
    source, sink, dead_letter = (topic_factory(n, prefix="latest") for n in (2, 1, 1))
    outside.send(source, *(Record(event(x), partition=0) for x in range(3)))
    stream = {"topics": [source], "group": source, "sink": sink, "dead_letter": dead_letter, "reset": "latest"}
    settings = settings_for(outside.brokers, "obedient", stream, delivery=delivery)
    first = serve(settings=settings)
    first.eventually(lambda: outside.finished(source, source))
    assert first.stop() == 0
    sent = outside.send(source, *(Record(event(x), partition=x % 2) for x in range(4)))
    second = serve(settings=settings)
    second.eventually(lambda: outside.finished(source, source))
    assert outside.scores(sink) == {at: [2.0 * x] for x, at in enumerate(sent)}
