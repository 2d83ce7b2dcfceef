"""What the sink will not take, with scores, dead letters and offsets in one transaction."""

import time
from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import ResourceType

from .conftest import Serve
from .outside import QUIET, Outside, Position, Record, event
from .served import COMMITS_S, Served

LIMIT, LOWER, LARGER, HUGE = 200_000, 100_000, 300_000, 1_500_000
HOUR_MS = 3_600_000
TABLE = {
    "max.message.bytes": str(LIMIT),
    "cleanup.policy": "compact",
    "message.timestamp.before.max.ms": str(24 * HOUR_MS),
    "message.timestamp.after.max.ms": str(HOUR_MS // 2),
}
GRAVES = {"max.message.bytes": str(LARGER)}


@pytest.fixture(scope="module")
def table(serve_here: Serve) -> Served:
    """A compacted sink keyed and dated as the events are, with little room."""
    stream = {"key": "input-key", "timestamp": "event"}
    topics = {"sink_config": TABLE, "dead_letter_config": GRAVES}
    return serve_here(**topics, stream=stream, delivery="exactly-once", health={"sink_failing_s": 1})


def letters_of(outside: Outside, served: Served) -> dict[int, list[tuple[str, int]]]:
    """Return the code and the length of every dead letter, by the offset of its record."""
    found: dict[int, list[tuple[str, int]]] = {}
    for letter in outside.read(served.dead_letter):
        headers = dict(letter.headers())
        offset = int(headers["__connect.errors.offset"])
        found.setdefault(offset, []).append((headers["pelton-error-code"].decode(), len(letter.value() or b"")))
    return found


def check_once(outside: Outside, served: Served, sent: list[Position]) -> None:
    """Every record sent has one score or one dead letter, and nothing else has any."""
    scores = Counter({at.offset: len(found) for at, found in outside.scores(served.sink).items()})
    letters = Counter({offset: len(found) for offset, found in letters_of(outside, served).items()})
    assert scores + letters == Counter(at.offset for at in sent)


def aborted(served: Served, finished: int) -> float:
    """Return how many transactions were not committed by the time when so many records were finished."""
    names = ("pelton_scored_total", "pelton_dead_letters_total")
    served.eventually(lambda: sum(map(served.metric, names)) >= finished)
    lines = served.get("/metrics")[1].decode().splitlines()
    ends = [line for line in lines if line.startswith("pelton_transactions_total{")]
    return sum(float(line.split()[-1]) for line in ends if 'end="committed"' not in line)


def send_at(outside: Outside, served: Served, stamp_ms: int, record: Record) -> Position:
    """Send a record with a timestamp of its own."""
    found: list[Position] = []
    producer = Producer({"bootstrap.servers": outside.brokers, **QUIET})
    producer.produce(
        served.source,
        record.value,
        record.key,
        timestamp=stamp_ms,
        on_delivery=lambda _, m: found.append(Position(m.topic(), m.partition(), m.offset())),
    )
    assert producer.flush(20) == 0
    return found[0]


def test_b28_what_the_sink_is_known_to_refuse_is_set_aside_without_an_abort(table: Served, outside: Outside) -> None:
    now_ms = int(time.time() * 1000)
    sent = outside.send(table.source, *(Record(event(x), b"k%d" % x) for x in range(20)))
    keyless, large, huge, unreadable, key = outside.send(
        table.source,
        Record(event(1)),
        Record(event(2, letters=LARGER), b"large"),
        Record(event(3, letters=HUGE), b"huge"),
        Record(b"not json " * 50_000, b"cut"),
        Record(event(4), b"K" * (LIMIT + 10)),
    )
    early = send_at(outside, table, now_ms - 25 * HOUR_MS, Record(event(5), b"early"))
    late = send_at(outside, table, now_ms + HOUR_MS * 3 // 4, Record(event(6), b"late"))
    in_time = send_at(outside, table, now_ms - 23 * HOUR_MS, Record(event(7), b"in time"))
    sent += outside.send(table.source, *(Record(event(x), b"k%d" % x) for x in range(20)))
    table.eventually(lambda: outside.finished(table.group, table.source))
    letters = letters_of(outside, table)
    assert {at.offset: letters[at.offset][0][0] for at in (keyless, large, huge, unreadable, key, early, late)} == {
        keyless.offset: "invalid",
        large.offset: "too_large",
        huge.offset: "too_large",
        unreadable.offset: "malformed",
        key.offset: "too_large",
        early.offset: "invalid",
        late.offset: "invalid",
    }
    assert 1000 < letters[unreadable.offset][0][1] < LARGER
    check_once(outside, table, [*sent, keyless, large, huge, unreadable, key, early, late, in_time])
    stamps_ms = [message.timestamp()[1] for message in outside.read(table.sink) if message.key() == b"in time"]
    assert stamps_ms == [now_ms - 23 * HOUR_MS]
    assert aborted(table, finished=in_time.offset + 21) == 0


def test_b28_what_nobody_could_know_costs_an_abort_and_only_the_record_at_fault(
    table: Served, outside: Outside
) -> None:
    """Sink and dead-letter topic take less than they did when the worker asked; the broker hears of it in a moment."""
    before, restarts = outside.ends(table.source)[0], table.worker()["restarts"]
    for topic, n_bytes in ((table.sink, LOWER), (table.dead_letter, 2 * LOWER)):
        outside.configure(ResourceType.TOPIC, topic, {"max.message.bytes": n_bytes})
    table.eventually(lambda: refuses(outside, table.sink, LOWER) and refuses(outside, table.dead_letter, 2 * LOWER))
    sent = outside.send(table.source, *(Record(event(x, letters=1_000), b"k%d" % x) for x in range(200)))
    wish = event(2, letters=LIMIT - 10_000)
    fat, unreadable = outside.send(
        table.source,
        Record(wish, b"fat"),
        Record(b"not json " * 30_000, b"fat letter"),
    )
    sent += outside.send(table.source, *(Record(event(x, letters=1_000), b"k%d" % x) for x in range(200)))
    table.eventually(lambda: outside.finished(table.group, table.source))
    letters = {offset: found for offset, found in letters_of(outside, table).items() if offset >= before}
    assert letters == {fat.offset: [("too_large", len(wish))], unreadable.offset: [("malformed", 16_384)]}
    scores = {at.offset: len(found) for at, found in outside.scores(table.sink).items() if at.offset >= before}
    assert scores == dict.fromkeys((at.offset for at in sent), 1)
    assert aborted(table, finished=sent[-1].offset + 1) >= 1
    assert table.worker()["restarts"] == restarts


def refuses(outside: Outside, topic: str, n_bytes: int) -> bool:
    """Tell whether a topic refuses a record of so many bytes by now; it is aborted in any case."""
    refused: list[KafkaError | None] = []
    properties = {"transactional.id": f"asking-{topic}", "message.max.bytes": 2 * n_bytes, **QUIET}
    producer = Producer({"bootstrap.servers": outside.brokers, **properties})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, bytes(n_bytes), b"asking", on_delivery=lambda error, _: refused.append(error))
    producer.flush(20)
    producer.abort_transaction(20)
    return refused[0] is not None


def test_b08_b52_nothing_is_lost_or_doubled_while_sink_or_dead_letter_topic_is_gone(
    table: Served, outside: Outside, topic_factory: Callable[..., str]
) -> None:
    restarts = table.worker()["restarts"]
    for gone, config in ((table.sink, TABLE), (table.dead_letter, GRAVES)):
        outside.delete(gone)
        table.eventually(lambda gone=gone: gone in "".join(table.health("ready")[1]))
        sent = outside.send(table.source, Record(event(8), b"while gone"), Record(b"bad", b"while gone"))
        table.eventually(lambda: table.age_s("oldest_unfinished") > COMMITS_S)
        assert table.health("live")[0] == 200
        assert outside.committed(table.group, table.source)[0] <= sent[0].offset
        topic_factory(config=config, name=gone)
        table.until_ready()
        table.eventually(lambda: outside.finished(table.group, table.source))
        assert outside.scores(table.sink, b"while gone")[sent[0]] == [16.0]
        assert letters_of(outside, table)[sent[1].offset] == [("malformed", 3)]
    assert table.worker()["restarts"] == restarts
