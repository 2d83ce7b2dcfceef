"""The process that asks the broker about a worker's groups, again and again, for `/scale`.

It is one of its own because librdkafka may abort the process in questions about groups while a broker restarts
(https://github.com/confluentinc/librdkafka/issues/4605): a supervisor must outlive that, and starts another one.
Settings come as JSON on standard input, and each look leaves as one line of JSON on standard output.
"""

import sys
import time
from collections.abc import Sequence

import msgspec

from pelton.consumers.group_lag import GroupLag
from pelton.errors import KafkaFailure
from pelton.kafka_clients import client_properties
from pelton.reports import end_with_parent
from pelton.scale_control import GroupLook
from pelton.schemas.settings import Settings


class GroupTold(msgspec.Struct, frozen=True):
    """One group: topic, number, how far it has come and the end of each partition."""

    partitions: list[tuple[str, int, int, int]]
    members: int

    def look(self) -> GroupLook:
        """Return it as the control takes it."""
        reached = {(topic, number): reached for topic, number, reached, _ in self.partitions}
        ends = {(topic, number): end for topic, number, _, end in self.partitions}
        return GroupLook(ends, reached, self.members)


class Told(msgspec.Struct, frozen=True):
    """All groups of a worker, or why they could not be looked at."""

    groups: list[GroupTold] = []
    failed: str = ""


decode_told = msgspec.json.Decoder(Told).decode
"""Turn a line of the asker into what it told; raises msgspec.DecodeError on anything else."""


def lags_of(settings: Settings) -> list[GroupLag]:
    """Return what asks about the groups of the stream and of the requests; raises SettingsError."""
    stream, requests, properties = settings.stream, settings.requests, client_properties(settings)
    asked = []
    if stream is not None:
        asked.append(GroupLag(properties, stream.group, reset=stream.reset, topics=stream.topics))
    if requests is not None:
        asked.append(GroupLag(properties, requests.group, topics=requests.topics))
    return asked


def look(lags: Sequence[GroupLag]) -> Told:
    """Ask the broker once."""
    try:
        return Told([_told(lag) for lag in lags])
    except KafkaFailure as error:
        return Told(failed=str(error))


def _told(lag: GroupLag) -> GroupTold:
    found = lag.look()
    # What is not to be read, behind the last record, is no lag: only records count.
    places = [(at.topic, at.partition, at.end - at.records, at.end) for at in found]
    return GroupTold(places, lag.members)


def main() -> None:
    """Ask until killed, or until the parent is gone."""
    end_with_parent(sys.stdout.fileno())
    settings = Settings.from_json(sys.stdin.read())
    every_s = settings.scale.every_s if settings.scale else 0.0
    lags = lags_of(settings)
    while True:
        began_s = time.monotonic()
        sys.stdout.buffer.write(msgspec.json.encode(look(lags)) + b"\n")
        sys.stdout.buffer.flush()
        time.sleep(max(0.0, began_s + every_s - time.monotonic()))


if __name__ == "__main__":
    main()
