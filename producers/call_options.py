"""What a client of a request topic can be told."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from pelton.errors import SettingsError
from pelton.schemas.settings_types import TOPIC_NAME

DEADLINE_S = 10.0
"""How long a call waits for its answer, unless it is told."""
MOST_DEADLINE_S = 600.0
"""The longest a call may wait."""
MOST_REPEATS = 3
_PRIORITIES = range(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How a client calls: where, for how long, how often again.

    `kafka` is bootstrap addresses or librdkafka properties. `requests` and `replies` are topics; many clients may share
    both. Answers come to one partition of `replies`: `reply_partition`, or else one that the client draws for itself.

    A call that gets no answer, or one that is worth another try, is sent again under the same id: `repeats` times at
    most, each after a pause of up to `backoff_s`, which doubles, and `silence_s` without an answer (a quarter of the
    call's time, unless told). Repeats never pass the deadline, nor a tenth of the calls.

    With `hedge`, a call whose answer takes longer than 19 of 20 others did is sent to a second partition as well.
    `most_pending` bounds the calls without an answer that `call_many` has on their way.

    Raises SettingsError for what cannot work.
    """

    kafka: str | Mapping[str, Any] = field(repr=False)
    requests: str
    replies: str
    deadline_s: float = DEADLINE_S
    repeats: int = MOST_REPEATS
    backoff_s: float = 0.1
    silence_s: float | None = None
    hedge: bool = False
    reply_partition: int | None = None
    most_pending: int = 1000
    properties: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, topic in (("requests", self.requests), ("replies", self.replies)):
            _check(bool(re.fullmatch(TOPIC_NAME, topic)), f"{name}: {topic!r} is no name of a topic")
        same = f"replies: {self.replies!r} is the request topic too: answers would be taken for requests"
        _check(self.requests != self.replies, same)
        check_deadline(self.deadline_s)
        _check(0 <= self.repeats <= MOST_REPEATS, f"repeats: must be 0 to {MOST_REPEATS}, not {self.repeats}")
        _check(self.backoff_s > 0, f"backoff_s: must be more than 0, not {self.backoff_s}")
        _check(self.silence_s is None or self.silence_s > 0, f"silence_s: must be more than 0, not {self.silence_s}")
        _check((self.reply_partition or 0) >= 0, f"reply_partition: must be 0 or more, not {self.reply_partition}")
        _check(self.most_pending >= 1, f"most_pending: must be 1 or more, not {self.most_pending}")
        object.__setattr__(self, "properties", connection(self.kafka))


class OptionsOfCalls(TypedDict, total=False):
    """The same as keyword arguments."""

    kafka: Required[str | Mapping[str, Any]]
    requests: Required[str]
    replies: Required[str]
    deadline_s: float
    repeats: int
    backoff_s: float
    silence_s: float | None
    hedge: bool
    reply_partition: int | None
    most_pending: int


class CallDetails(TypedDict, total=False):
    """What one call can be told; see `RequestReplyClient.submit`."""

    model: str | None
    params: Mapping[str, Any] | None
    key: str | bytes | None
    deadline_s: float | None
    traceparent: str | bytes | None
    priority: int


def connection(kafka: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return librdkafka properties for bootstrap addresses or properties; raises SettingsError without a broker."""
    properties: dict[str, Any] = {"bootstrap.servers": kafka} if isinstance(kafka, str) else dict(kafka)
    _check(bool(str(properties.get("bootstrap.servers", "")).strip(" ,")), "bootstrap.servers: must name a broker")
    return properties


def check_deadline(deadline_s: float) -> None:
    """Raise SettingsError for a time limit that no call can have."""
    if not 0 < deadline_s <= MOST_DEADLINE_S:
        raise SettingsError(f"deadline_s: must be more than 0 and at most {MOST_DEADLINE_S:g}, not {deadline_s}")


def check_call(deadline_s: float, priority: int) -> None:
    """Raise SettingsError for a time limit or a priority that no call can have."""
    check_deadline(deadline_s)
    if priority not in _PRIORITIES:
        raise SettingsError(f"priority: must be a whole number from 0 to 9, not {priority!r}")


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SettingsError(otherwise)
