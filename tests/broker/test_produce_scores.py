"""`pelton produce`, `pelton scores` and topic look-ups on a real broker."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from pelton import topics
from pelton.errors import BrokerUnavailable, TopicMissing
from pelton.topic_reader import TopicReader

TopicFactory = Callable[..., str]
NOBODY = "127.0.0.1:1"


def pelton(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pelton.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=45)


def read_all(brokers: str, topic: str, last: int | None = None) -> list[tuple[bytes | None, bytes | None]]:
    reader = TopicReader({"bootstrap.servers": brokers}, [topic], last)
    found = []
    while not reader.at_end:
        found += [(message.key(), message.value()) for message in reader.read()]
    reader.close()
    return found


def murmur2(key: bytes) -> int:
    """Return Kafka's own hash of a key, as its Java client computes it."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(key[i : i + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if rest := key[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def test_what_is_produced_is_what_scores_shows(brokers: str, topic_factory: TopicFactory, tmp_path: Path) -> None:
    topic = topic_factory(3)
    rows = [{"id": f"F{i}", "n": i, "x": i / 4} for i in range(500)]
    lines = [f"{row['id']},{row['n']},{row['x']}" for row in rows]
    (tmp_path / "rows.csv").write_text("\n".join(["id,n,x", *lines]))
    began_ms = time.time() * 1000
    done = pelton("produce", "rows.csv", "-t", topic, "--key", "id", "--brokers", brokers, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"500 rows delivered to {topic}\n")

    shown = pelton("scores", "-t", topic, "--from-beginning", "--brokers", brokers, cwd=tmp_path)
    assert shown.returncode == 0
    assert sorted((json.loads(line) for line in shown.stdout.splitlines()), key=lambda row: row["n"]) == rows

    last = pelton("scores", "-t", topic, "-n", "7", "--brokers", brokers, cwd=tmp_path)
    newest = {json.loads(line)["n"] for line in last.stdout.splitlines()}
    # Rows of one millisecond have no order among partitions; but the newest are the newest.
    assert (len(newest), min(newest) > 400) == (7, True)

    reader = TopicReader({"bootstrap.servers": brokers}, [topic])
    while not reader.at_end:
        for message in reader.read():
            assert message.partition() == (murmur2(message.key() or b"") & 0x7FFFFFFF) % 3
            assert began_ms - 1000 <= message.timestamp()[1] <= time.time() * 1000 + 1000
    reader.close()


def test_scores_follows_what_comes_later(brokers: str, topic_factory: TopicFactory, tmp_path: Path) -> None:
    topic = topic_factory(2)
    command = [sys.executable, "-m", "pelton.cli", "scores", "-t", topic, "--from-beginning", "--follow", "-n", "3"]
    producer = Producer({"bootstrap.servers": brokers})
    with subprocess.Popen([*command, "--brokers", brokers], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        for number in range(3):
            producer.produce(topic, b'{"n":%d}' % number)
            producer.flush(10)
            assert json.loads(following.stdout.readline()) == {"n": number}
        assert following.wait(20) == 0


def test_scores_of_aborted_transactions_are_never_shown(
    brokers: str, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    topic = topic_factory(1)
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(20)
    for number, commit in enumerate([True, False, True, False]):
        producer.begin_transaction()
        producer.produce(topic, b'{"n":%d}' % number)
        producer.flush(10)
        producer.commit_transaction(20) if commit else producer.abort_transaction(20)
    # The last record is aborted and the log ends in markers: neither may keep the reader waiting for more.
    shown = pelton("scores", "-t", topic, "--from-beginning", "--brokers", brokers, cwd=tmp_path)
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [{"n": 0}, {"n": 2}]


def test_a_reader_starts_as_far_from_the_end_as_asked(brokers: str, topic_factory: TopicFactory) -> None:
    topic = topic_factory(1)
    producer = Producer({"bootstrap.servers": brokers})
    for number in range(20):
        producer.produce(topic, b"%d" % number, b"\xff")
    producer.flush(10)
    assert [value for _, value in read_all(brokers, topic, last=3)] == [b"17", b"18", b"19"]
    assert [value for _, value in read_all(brokers, topic, last=50)] == [b"%d" % n for n in range(20)]
    assert read_all(brokers, topic, last=0) == []
    assert read_all(brokers, topic_factory(2)) == []


def test_a_reader_that_looks_again_reads_what_came_meanwhile(brokers: str, topic_factory: TopicFactory) -> None:
    topic = topic_factory(2)
    producer = Producer({"bootstrap.servers": brokers})
    reader = TopicReader({"bootstrap.servers": brokers}, [topic])
    while not reader.at_end:
        reader.read()
    for number in range(100):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    producer.flush(10)
    reader.look_again()
    assert not reader.at_end
    found = 0
    while not reader.at_end:
        found += len(reader.read())
    reader.look_again()
    assert (found, reader.at_end) == (100, True)
    reader.close()


def test_topics_are_created_once_and_described(brokers: str, topic_factory: TopicFactory) -> None:
    there = topic_factory(3)
    new = f"{there}-new"
    assert topics.describe(brokers, [there, new, there]) == {there: 3}
    topics.create({"bootstrap.servers": brokers}, {new: 2, there: 5})
    assert topics.describe(brokers, [there, new]) == {there: 3, new: 2}
    assert topics.describe(brokers, []) == {}
    catalog, process = topics.Catalog(brokers, 10.0), psutil.Process()
    connected = process.num_threads()
    assert [catalog.describe([there, f"{there}-{n}"]) for n in range(20)] == [{there: 3}] * 20
    assert process.num_threads() <= connected + 1  # the broker's own connection may be the last to come


@pytest.mark.parametrize("what", ["describe", "create", "read"])
def test_no_broker_is_told_within_the_time_given(what: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "describe": lambda: topics.describe(NOBODY, ["t"], timeout_s=1.0),
        "create": lambda: topics.create(NOBODY, {"t": 1}, timeout_s=1.0),
        "read": lambda: TopicReader({"bootstrap.servers": NOBODY}, ["t"], timeout_s=1.0),
    }
    began_s = time.monotonic()
    with pytest.raises(BrokerUnavailable, match=rf"{NOBODY} within 1 s: .*refused"):
        calls[what]()
    assert time.monotonic() - began_s < 5.0


def test_a_topic_that_is_not_there_is_told(brokers: str, tmp_path: Path) -> None:
    with pytest.raises(TopicMissing, match="no topic nobody-made-me at"):
        TopicReader({"bootstrap.servers": brokers}, ["nobody-made-me"])
    (tmp_path / "a.jsonl").write_text("{}\n")
    for command in (["produce", "a.jsonl"], ["scores"]):
        done = pelton(*command, "-t", "nobody-made-me", "--brokers", brokers, cwd=tmp_path)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
        assert done.stderr.startswith("error: no topic nobody-made-me")


def test_topics_are_created_with_the_partitions_asked_for(
    brokers: str, kafka_admin: AdminClient, tmp_path: Path
) -> None:
    names = [f"made-{time.time_ns()}-{i}" for i in range(2)]
    done = pelton("kafka", "topics", f"{names[0]}:3", f"{names[1]}:1", "--brokers", brokers, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = kafka_admin.list_topics(timeout=10).topics
    assert [len(found[name].partitions) for name in names] == [3, 1]
    again = pelton("kafka", "topics", f"{names[0]}:8", "--brokers", brokers, cwd=tmp_path)
    assert again.stdout == f"{names[0]} has 3 partitions, left as it is (8 asked for)\n"
