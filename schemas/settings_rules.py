"""Rules between settings: each contradiction is refused before anything connects."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pelton.schemas.kafka_rules import kafka_problems
from pelton.schemas.settings_problems import MISSING, Problem

if TYPE_CHECKING:
    from pelton.schemas.settings import Settings


NO_ROAD = Problem("stream", MISSING, "is missing, and so is requests: one of the two is needed")


def contradictions(settings: "Settings") -> list[Problem]:
    """Return every contradiction in `settings`, none when they hold together."""
    return [
        *_stream_problems(settings),
        *_request_problems(settings),
        *_size_problems(settings),
        *_time_problems(settings),
        *_admin_problems(settings),
        *_scale_problems(settings),
        *kafka_problems(settings.kafka),
    ]


def _stream_problems(settings: "Settings") -> Iterator[Problem]:
    stream = settings.stream
    if stream is None:
        yield from _without_stream(settings)
        return
    if stream.sink in stream.topics:
        yield Problem("stream.sink", stream.sink, "is an input topic too: scores would be scored again")
    if stream.dead_letter in stream.topics:
        yield Problem("stream.dead_letter", stream.dead_letter, "is an input topic too: bad events would go round")
    if stream.dead_letter == stream.sink:
        yield Problem("stream.dead_letter", stream.dead_letter, "is the sink too: readers of scores would meet it")
    if stream.tombstones == "pass" and stream.key != "input-key":
        why = f"needs stream.key: input-key; with {stream.key} a deletion has no key to act on"
        yield Problem("stream.tombstones", stream.tombstones, why)


def _without_stream(settings: "Settings") -> Iterator[Problem]:
    if settings.requests is None:
        yield NO_ROAD
    elif settings.delivery != "at-least-once":
        yield Problem("delivery", settings.delivery, "needs a stream: answers to requests are part of no transaction")


def _request_problems(settings: "Settings") -> Iterator[Problem]:
    requests, stream = settings.requests, settings.stream
    if requests is None:
        return
    of_stream = (*stream.topics, stream.sink, stream.dead_letter) if stream else ()
    if stream and requests.group == stream.group:
        why = "is stream.group too: a rebalance of one would hold up the other"
        yield Problem("requests.group", requests.group, why)
    for topic in requests.topics:
        if topic in of_stream:
            yield Problem("requests.topics", topic, "is a topic of the stream too")
    for pattern in requests.reply_topics:
        for topic in (*requests.topics, *of_stream):
            if fnmatchcase(topic, pattern):
                yield Problem("requests.reply_topics", pattern, f"lets answers into {topic}, where no caller reads")
    if requests.deadline_s > requests.max_deadline_s:
        why = f"is more than requests.max_deadline_s ({requests.max_deadline_s:g})"
        yield Problem("requests.deadline_s", requests.deadline_s, why)


def _size_problems(settings: "Settings") -> Iterator[Problem]:
    most = settings.queue.max_records
    if most is not None and most < settings.batch.max_size:
        why = f"is less than batch.max_size ({settings.batch.max_size}): no batch could fill"
        yield Problem("queue.max_records", most, why)


def _admin_problems(settings: "Settings") -> Iterator[Problem]:
    if settings.admin.port is not None and settings.admin.token is None:
        yield Problem("admin.token", MISSING, "is missing: there is no admin.port without one, whatever the address")


def _time_problems(settings: "Settings") -> Iterator[Problem]:
    restart, health = settings.restart, settings.health
    if restart.first_s > restart.max_s:
        yield Problem("restart.first_s", restart.first_s, f"is more than restart.max_s ({restart.max_s:g})")
    waits_ms = {"batch": settings.batch.max_wait_ms}
    if settings.requests is not None:
        waits_ms["requests"] = settings.requests.max_wait_ms
    for group, wait_ms in waits_ms.items():
        if health.stall_s * 1000 <= wait_ms:
            why = f"is not more than {group}.max_wait_ms ({wait_ms:g} ms): waiting would look stuck"
            yield Problem("health.stall_s", health.stall_s, why)


def _scale_problems(settings: "Settings") -> Iterator[Problem]:
    scale = settings.scale
    if scale is None:
        return
    if scale.max is not None and scale.max < scale.min:
        yield Problem("scale.max", scale.max, f"is less than scale.min ({scale.min})")
    if scale.start_s is not None and scale.start_s >= scale.drain_s:
        why = f"is not less than scale.drain_s ({scale.drain_s:g}): a replica that comes would be too late"
        yield Problem("scale.start_s", scale.start_s, why)
