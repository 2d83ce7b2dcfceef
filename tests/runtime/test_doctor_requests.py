"""`pelton doctor` for a worker that only answers requests."""

import time
from dataclasses import replace
from typing import Any

import pytest

from pelton.doctor import check
from pelton.doctor_facts import ClusterFacts, TopicFacts
from pelton.schemas.settings import Settings
from pelton.settings_roles import groups_of, inputs_of, roles_of

ALL = frozenset({"READ", "WRITE", "DESCRIBE"})
WELL = ClusterFacts(
    brokers=1,
    config={},
    rights=ALL,
    group_rights={"rg": ALL},
    topics={"asked": TopicFacts(4, 1, {}, ALL), "answers": TopicFacts(4, 1, {}, ALL)},
)
REQUESTS = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers", "team-*"]}
STREAM = {"topics": ["in"], "group": "g", "sink": "out"}


def settings(**changes: Any) -> Settings:
    return Settings(model="m", requests=REQUESTS, **changes)


def but(topic: str, **changes: Any) -> ClusterFacts:
    return replace(WELL, topics={**WELL.topics, topic: replace(WELL.topics[topic], **changes)})


def test_only_what_requests_need_is_asked_for() -> None:
    assert roles_of(settings()) == {"asked": "requests.topics", "answers": "requests.reply_topics"}
    assert inputs_of(settings()) == {"asked": "requests.topics"}
    assert groups_of(settings()) == {"rg": "requests.group"}
    assert groups_of(settings(stream=STREAM)) == {"g": "stream.group", "rg": "requests.group"}


def test_nothing_is_found_where_all_is_well() -> None:
    assert check(settings(workers=4), WELL) == []


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (replace(WELL, topics={"answers": WELL.topics["answers"]}), ("error", "requests.topics")),
        (replace(WELL, topics={"asked": WELL.topics["asked"]}), ("error", "requests.reply_topics")),
        (replace(WELL, group_rights={"rg": frozenset({"DESCRIBE"})}), ("error", "requests.group")),
        (but("asked", rights=frozenset({"WRITE"})), ("error", "requests.topics")),
        (but("answers", rights=frozenset({"READ"})), ("error", "requests.reply_topics")),
        (but("asked", partitions=3), ("warning", "workers")),
        (but("asked", newest_ms=int(time.time() * 1000) + 86_400_000), ("warning", "clock")),
        (but("asked", config={"compression.type": "brotli"}), ("error", "requests.topics")),
    ],
)
def test_each_fault_is_found_by_the_setting_it_stands_in(facts: ClusterFacts, expected: tuple[str, str]) -> None:
    assert [(each.level.value, each.where) for each in check(settings(workers=4), facts)] == [expected]


def test_workers_beyond_the_stream_are_not_idle_while_there_are_requests_for_them() -> None:
    both = settings(workers=4, stream=STREAM)
    narrow = {name: TopicFacts(1, 1, {}, ALL) for name in ("in", "out", "out-dead-letters")}
    assert check(both, replace(WELL, topics={**WELL.topics, **narrow})) == []
