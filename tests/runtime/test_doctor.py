"""`pelton doctor`: every rule finds what it is there for, and nothing in a cluster that is well."""

import time
from dataclasses import replace
from typing import Any

import pytest

from pelton import handover
from pelton.doctor import LEAST_POLL_MS, RULES, check
from pelton.doctor_facts import ClusterFacts, TopicFacts
from pelton.doctor_findings import Level
from pelton.schemas.settings import Settings
from pelton.settings_roles import roles_of

ALL = frozenset({"READ", "WRITE", "DESCRIBE"})
SIZE = {"max.message.bytes": "1048588"}
WELL = ClusterFacts(
    brokers=3,
    config={
        "transaction.max.timeout.ms": "900000",
        "group.min.session.timeout.ms": "6000",
        "group.max.session.timeout.ms": "1800000",
        "group.coordinator.rebalance.protocols": "classic,consumer",
    },
    rights=ALL,
    group_rights={"g": ALL},
    topics={
        "in": TopicFacts(4, 3, {**SIZE, "retention.ms": "604800000"}, ALL),
        "out": TopicFacts(4, 3, SIZE, ALL),
        "out-dead-letters": TopicFacts(1, 3, SIZE, ALL),
    },
)


def settings(**changes: Any) -> Settings:
    stream = {"topics": ["in"], "group": "g", "sink": "out", **changes.pop("stream", {})}
    return Settings(model="m", stream=stream, **changes)


def but(topic: str, **changes: Any) -> ClusterFacts:
    """The cluster that is well, but for one topic; `config` is added to its own."""
    told = WELL.topics[topic]
    config = {**told.config, **changes.pop("config", {})}
    return replace(WELL, topics={**WELL.topics, topic: replace(told, config=config, **changes)})


def found(given: Settings, facts: ClusterFacts) -> list[tuple[str, str]]:
    return [(finding.level.value, finding.where) for finding in check(given, facts)]


def test_nothing_is_found_where_all_is_well() -> None:
    assert found(settings(), WELL) == []
    assert found(settings(delivery="exactly-once", workers=4), WELL) == []


def test_every_topic_has_to_exist() -> None:
    requests = {"topics": ["ask"], "group": "asked", "reply_topics": ["answers", "team-*"]}
    nothing = replace(WELL, topics={}, group_rights={})
    assert found(settings(requests=requests), nothing) == [
        ("error", where)
        for where in ("stream.topics", "stream.sink", "stream.dead_letter", "requests.topics", "requests.reply_topics")
    ]
    assert list(roles_of(settings(requests=requests))) == ["in", "out", "out-dead-letters", "ask", "answers"]


@pytest.mark.parametrize(
    ("facts", "changes", "expected"),
    [
        (but("out", config={"min.insync.replicas": "4"}), {}, ("error", "stream.sink")),
        (but("in", replicas=1), {}, ("warning", "stream.topics")),
        (but("in", config={"retention.ms": "60000"}), {}, ("warning", "stream.topics")),
        (
            but("out", config={"retention.ms": "1000"}),
            {"stream": {"timestamp": "event"}},
            ("warning", "stream.timestamp"),
        ),
        (
            but("out", config={"message.timestamp.before.max.ms": "60000"}),
            {"stream": {"timestamp": "event"}},
            ("warning", "stream.timestamp"),
        ),
        (
            but("out", config={"message.timestamp.type": "LogAppendTime", "retention.ms": "1000"}),
            {"stream": {"timestamp": "event"}},
            ("warning", "stream.timestamp"),
        ),
        (but("out-dead-letters", config={"cleanup.policy": "compact"}), {}, ("error", "stream.dead_letter")),
        (but("out-dead-letters", config={"max.message.bytes": "1000"}), {}, ("warning", "stream.dead_letter")),
        (but("out", config={"max.message.bytes": "1000"}), {}, ("warning", "stream.sink")),
        (but("out", partitions=2), {}, ("warning", "stream.sink")),
        (WELL, {"workers": 5}, ("warning", "workers")),
        (but("in", rights=frozenset({"DESCRIBE"})), {}, ("error", "stream.topics")),
        (but("out", rights=frozenset({"READ"})), {}, ("error", "stream.sink")),
        (replace(WELL, group_rights={"g": frozenset()}), {}, ("error", "stream.group")),
        (
            WELL,
            {"kafka": {"session.timeout.ms": 3000, "heartbeat.interval.ms": 1000}},
            ("error", "kafka.session.timeout.ms"),
        ),
        (
            replace(WELL, config={"transaction.max.timeout.ms": "5000"}),
            {"delivery": "exactly-once"},
            ("error", "kafka.transaction.timeout.ms"),
        ),
        (
            replace(WELL, config={"group.coordinator.rebalance.protocols": "classic"}),
            {"kafka": {"group.protocol": "consumer"}},
            ("error", "kafka.group.protocol"),
        ),
        (
            WELL,
            {"kafka": {"max.poll.interval.ms": 9000, "session.timeout.ms": 8000}},
            ("warning", "kafka.max.poll.interval.ms"),
        ),
        (but("in", newest_ms=int(time.time() * 1000) + 86_400_000), {}, ("warning", "clock")),
        (but("in", config={"compression.type": "brotli"}), {}, ("error", "stream.topics")),
    ],
)
def test_each_rule_finds_its_fault_and_no_other_does(
    facts: ClusterFacts, changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert found(settings(**changes), facts) == [expected]
    assert sum(bool(list(rule(settings(**changes), facts))) for rule in RULES) == 1


def test_the_least_time_between_polls_is_twice_the_budget_of_a_handover() -> None:
    assert 2 * handover.REVOKE_BUDGET_S * 1000 == LEAST_POLL_MS


def test_rights_that_the_broker_does_not_tell_are_no_finding() -> None:
    untold = {name: replace(told, rights=None) for name, told in WELL.topics.items()}
    assert found(settings(), replace(WELL, topics=untold, rights=None, group_rights={"g": None})) == []


def test_errors_come_first_and_each_finding_says_what_to_change() -> None:
    facts = but("out-dead-letters", config={"cleanup.policy": "compact"}, replicas=1)
    told = check(settings(workers=9), facts)
    assert [finding.level for finding in told] == [Level.ERROR, Level.WARNING, Level.WARNING]
    assert all(finding.change and finding.what for finding in told)


def test_who_may_use_transactional_ids_is_looked_up_where_it_may_be() -> None:
    exactly = settings(delivery="exactly-once", replica="one")
    for users in (None, frozenset[str]()):
        (finding,) = check(exactly, replace(WELL, id_users=users))
        assert (finding.level, finding.where) == (Level.WARNING, "delivery")
        assert "pelton-g-one-*" in finding.what + finding.change
        assert found(settings(), replace(WELL, id_users=users)) == []
    assert found(exactly, replace(WELL, id_users=frozenset({"User:pelton"}))) == []
