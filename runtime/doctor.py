"""What would go wrong with these settings on this cluster, and what to change."""

import time
from collections.abc import Callable, Iterable, Iterator

from pelton.doctor_facts import ClusterFacts, Rights
from pelton.doctor_findings import Finding, Level, error, warning
from pelton.doctor_topics import existence, parallelism, replication, retention, sizes
from pelton.replica import id_stem
from pelton.schemas.settings import Settings
from pelton.settings_roles import groups_of, inputs_of, right_to, roles_of

SKEW_MS = 2_000
LEAST_POLL_MS = 10_000
"""Twice what a handover may take; its own file is not imported, as torch would come along."""


def check(settings: Settings, facts: ClusterFacts, also: Iterable[Finding] = ()) -> list[Finding]:
    """Return all that is found, with what was found elsewhere, errors first."""
    found = [finding for rule in RULES for finding in rule(settings, facts)] + list(also)
    return sorted(found, key=lambda finding: finding.level is not Level.ERROR)


def _times(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    kafka = settings.kafka
    if settings.delivery == "exactly-once":
        ours = int(kafka.get("transaction.timeout.ms", 10_000))
        most = int(facts.config.get("transaction.max.timeout.ms", ours))
        if ours > most:
            yield error("kafka.transaction.timeout.ms", f"is {ours}, and the broker allows {most}", f"{most} at most")
    if kafka.get("group.protocol") != "consumer":
        session = int(kafka.get("session.timeout.ms", 45_000))
        least = int(facts.config.get("group.min.session.timeout.ms", session))
        most = int(facts.config.get("group.max.session.timeout.ms", session))
        if not least <= session <= most:
            yield error("kafka.session.timeout.ms", f"is {session}", f"the broker allows {least} to {most}")
    poll_ms = int(kafka.get("max.poll.interval.ms", 300_000))
    if poll_ms < LEAST_POLL_MS:
        what = f"is {poll_ms}, and finishing a batch in a rebalance may take half of {LEAST_POLL_MS}"
        yield warning("kafka.max.poll.interval.ms", what, f"{LEAST_POLL_MS} and more")


def _protocol(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    offered = facts.config.get("group.coordinator.rebalance.protocols", "")
    if settings.kafka.get("group.protocol") == "consumer" and "consumer" not in offered:
        yield error(
            "kafka.group.protocol", "the broker does not offer the protocol `consumer`", "Kafka 4, or `classic`"
        )


def _permissions(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    for topic, role in roles_of(settings).items():
        needed = right_to(role)
        if topic in facts.topics and _lacks(facts.topics[topic].rights, needed):
            yield error(role, f"no right to {needed} {topic}", f"grant {needed} on the topic")
    for group, role in groups_of(settings).items():
        if _lacks(facts.group_rights.get(group), "READ"):
            yield error(role, f"no right to join the group {group}", "grant READ on the group")


def _transactional_ids(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    if settings.stream is None or settings.delivery != "exactly-once" or facts.id_users:
        return
    ids = f"{id_stem(settings.stream.group, settings.replica)}-*"
    if facts.id_users is None:
        what = "who may use the transactional ids cannot be looked up: no right to DESCRIBE the cluster"
        yield warning("delivery", what, f"that right, or a look by hand: WRITE on TRANSACTIONAL_ID {ids}")
    else:
        what = f"no ACL lets anybody use the transactional ids {ids}: a super user may, nobody else"
        yield warning("delivery", what, "grant WRITE on the ids, prefixed")


def _lacks(rights: Rights, needed: str) -> bool:
    return rights is not None and needed not in rights


def _clock(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    now_ms = time.time() * 1000
    for topic in inputs_of(settings):
        newest_ms = facts.topics[topic].newest_ms if topic in facts.topics else None
        if newest_ms is not None and newest_ms > now_ms + SKEW_MS:
            ahead_s = (newest_ms - now_ms) / 1000
            what = f"a record of {topic} is {ahead_s:.1f} s ahead of our clock: ages and deadlines will be wrong"
            yield warning("clock", what, "the same time source for producers and workers")


def _compression(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - only here is a client made

    for topic, role in inputs_of(settings).items():
        codec = facts.topics[topic].config.get("compression.type", "producer") if topic in facts.topics else "producer"
        if codec in {"producer", "uncompressed", "none"}:
            continue
        try:
            Producer({"compression.type": codec})
        except KafkaException:
            what = f"{topic} is compressed with {codec}, which this build of librdkafka lacks"
            yield error(role, what, "a build with it, such as the wheels of confluent-kafka")


RULES: tuple[Callable[[Settings, ClusterFacts], Iterator[Finding]], ...] = (
    existence,
    _permissions,
    _transactional_ids,
    replication,
    _times,
    _protocol,
    _compression,
    retention,
    sizes,
    parallelism,
    _clock,
)
"""Every rule; each yields what it finds."""
