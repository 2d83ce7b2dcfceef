"""Polled messages as columns, one block a partition."""

from collections.abc import Iterable
from itertools import groupby
from operator import methodcaller

from confluent_kafka import Message

from pelton.consumers.assignment import Assignment
from pelton.schemas.records import Records

_origin = methodcaller("partition")


def in_columns(messages: list[Message], topics: list[str], assignment: Assignment, arrived_s: float) -> list[Records]:
    """Return messages by topic and partition, in the order in which they came; events are not decoded yet."""
    if len(topics) == 1:
        return _of_topic(topics[0], messages, assignment, arrived_s)
    by_topic: dict[str, list[Message]] = {}
    for message in messages:
        by_topic.setdefault(str(message.topic()), []).append(message)
    return [block for topic, own in by_topic.items() for block in _of_topic(topic, own, assignment, arrived_s)]


def _of_topic(topic: str, messages: list[Message], assignment: Assignment, arrived_s: float) -> list[Records]:
    return [
        Records(
            topic=topic,
            partition=partition,
            epoch=assignment.epoch((topic, partition)),
            messages=own,
            offsets=[message.offset() for message in own],  # type: ignore[misc]  # a polled record has one
            events=[],
            n_bytes=sum([len(message) + len(message.key() or b"") for message in own]),
            arrived_s=arrived_s,
        )
        for partition, own in _by_partition(messages)
    ]


def _by_partition(messages: list[Message]) -> Iterable[tuple[int, list[Message]]]:
    blocks: dict[int, list[Message]] = {}
    for partition, run in groupby(messages, _origin):
        if partition in blocks:
            blocks[partition] += run
        else:
            blocks[partition] = list(run)
    return blocks.items()
