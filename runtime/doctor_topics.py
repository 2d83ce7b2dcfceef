"""What a doctor looks for in topics: do they exist, survive, take and keep what goes there."""

from collections.abc import Iterator

from pelton.doctor_facts import ClusterFacts, TopicFacts
from pelton.doctor_findings import Finding, error, warning
from pelton.kafka_clients import max_message_bytes
from pelton.schemas.settings import Settings
from pelton.schemas.topic_limits import NO_LIMIT
from pelton.settings_roles import READ, roles_of

HOUR_MS = 3_600_000
NEARLY = 0.95
CREATE = "create it, as by `pelton kafka topics`, or grant DESCRIBE on it"


def existence(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    """Every topic named has to exist."""
    for topic, role in roles_of(settings).items():
        if topic not in facts.topics:
            yield error(role, f"no topic {topic}, or no right to see it", CREATE)


def replication(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    """Writes need as many replicas in sync as the topic wants."""
    for topic, role in roles_of(settings).items():
        told = facts.topics.get(topic)
        if told is None:
            continue
        least = int(told.config.get("min.insync.replicas", 1))
        if least > told.replicas:
            what = f"{topic} wants {least} replicas in sync and has {told.replicas}: nothing could be written"
            yield error(role, what, f"min.insync.replicas={told.replicas} at most, or more replicas")
        elif told.replicas == 1 < facts.brokers:
            yield warning(role, f"{topic} has one replica: a broker that dies takes it along", "three replicas")


def parallelism(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    """Workers beyond the partitions are idle, and a narrow sink narrows its readers."""
    partitions = {topic: told.partitions for topic, told in facts.topics.items()}
    roles = roles_of(settings)
    most = max(sum(partitions.get(topic, 0) for topic, role in roles.items() if role == group) for group in READ)
    if most and settings.workers > most:
        what = f"{settings.workers} workers and {most} partitions: {settings.workers - most} will be idle"
        yield warning("workers", what, f"{most} workers at most, or more partitions")
    stream = settings.stream
    if stream is None or stream.partition != "source" or stream.sink not in partitions:
        return
    narrow, widest = partitions[stream.sink], max(partitions.get(topic, 0) for topic in stream.topics)
    if narrow < widest:
        what = f"the sink has {narrow} partitions and the source {widest}: several share one"
        yield warning("stream.sink", what, f"{widest} partitions, so that readers are as parallel as the source")


def sizes(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    """What is read has to fit into what is written."""
    stream, ours = settings.stream, max_message_bytes(settings)
    if stream is None:
        return
    sink, letters = facts.topics.get(stream.sink), facts.topics.get(stream.dead_letter)
    if sink and (least := _max_bytes(sink)) < ours:
        what = f"the sink takes {least} bytes a message and the client sends up to {ours}: larger scores are set aside"
        yield warning("stream.sink", what, f"max.message.bytes={ours}, if scores can be as large")
    largest = max((_max_bytes(facts.topics[topic]) for topic in stream.topics if topic in facts.topics), default=0)
    if letters and (least := min(_max_bytes(letters), ours)) < NEARLY * largest:
        what = f"events may have {largest} bytes and dead letters {least}: larger ones arrive cut"
        yield warning(
            "stream.dead_letter", what, f"max.message.bytes and kafka.message.max.bytes of {largest} and more"
        )


def _max_bytes(topic: TopicFacts) -> int:
    return int(topic.config.get("max.message.bytes", 1_048_588))


def retention(settings: Settings, facts: ClusterFacts) -> Iterator[Finding]:
    """Nothing may be deleted before it is read."""
    stream = settings.stream
    if stream is None:
        return
    for topic in stream.topics:
        told = facts.topics.get(topic)
        keeps_ms = int(told.config.get("retention.ms", -1)) if told else -1
        if 0 <= keeps_ms < HOUR_MS:
            what = f"{topic} keeps records for {keeps_ms / 1000:g} s: what is not scored by then is lost"
            yield warning("stream.topics", what, "retention.ms of an hour and more")
    sink, letters = facts.topics.get(stream.sink), facts.topics.get(stream.dead_letter)
    if sink and stream.timestamp == "event":
        yield from _event_times(sink)
    if letters and "compact" in letters.config.get("cleanup.policy", ""):
        what = "the dead-letter topic is compacted: of each key only the last letter stays, and none without a key"
        yield error("stream.dead_letter", what, "cleanup.policy=delete")


def _event_times(sink: TopicFacts) -> Iterator[Finding]:
    oldest_ms = int(sink.config.get("message.timestamp.before.max.ms", NO_LIMIT))
    if sink.config.get("message.timestamp.type") == "LogAppendTime":
        what = "scores carry the event's time, and the sink stamps them with its own"
        yield warning("stream.timestamp", what, "message.timestamp.type=CreateTime for the sink")
        return
    if int(sink.config.get("retention.ms", -1)) >= 0:
        what = "scores carry the event's time, and retention deletes what is old at once"
        yield warning("stream.timestamp", what, "stream.timestamp: producer, or retention.ms=-1 for the sink")
    if oldest_ms < NO_LIMIT:
        what = f"scores carry the event's time, and the sink takes none older than {oldest_ms / 1000:g} s: set aside"
        yield warning("stream.timestamp", what, "stream.timestamp: producer, or no message.timestamp.before.max.ms")
