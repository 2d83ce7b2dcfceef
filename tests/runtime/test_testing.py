"""What users test with: events scored in this process, and a Kafka in memory with the manners of the real client."""

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from pelton.errors import PackageError
from pelton.testing import TOMBSTONE, FakeKafka, Rejection, make_message, score_events

PACKAGES = Path(__file__).parent.parent / "models" / "packages"
EXAMPLE = Path(__file__).parents[2] / "examples" / "payment-risk" / "1"

silent = logging.getLogger("pelton.test.librdkafka")
silent.addHandler(logging.NullHandler())
silent.propagate = False


def test_events_come_back_as_scores_or_as_the_reason_why_not() -> None:
    events = [{"x": 1.5}, b"not json", None, '{"x": -2}', {"x": "abc"}, {"x": 1e39}, {"x": 4, "unknown": 1}]
    scores = score_events(PACKAGES / "doubler" / "1", events, batch_size=3)
    assert [score for score in scores if isinstance(score, float)] == [3.0, -4.0, 8.0]
    assert scores[2] is TOMBSTONE
    refused = {row: score.code.value for row, score in enumerate(scores) if isinstance(score, Rejection)}
    assert refused == {1: "malformed", 4: "invalid", 5: "not_finite"}


def test_no_events_give_no_scores() -> None:
    assert score_events(PACKAGES / "doubler" / "1", []) == []


def test_the_example_in_the_docstring_holds() -> None:
    payment = {"payment_id": "a", "amount": 3.2, "payments_today": 1}
    assert score_events(EXAMPLE, [payment])[0] < 0.5


def test_a_package_that_breaks_its_own_golden_cases_is_refused(tmp_path: Path) -> None:
    for name in ("model.py", "model.yaml"):
        (tmp_path / name).write_bytes((PACKAGES / "doubler" / "1" / name).read_bytes())
    (tmp_path / "golden.jsonl").write_text('{"event": {"x": 1}, "score": 5.0}\n')
    with pytest.raises(PackageError, match="golden"):
        score_events(tmp_path, [{"x": 1}])


def test_what_cannot_be_written_as_json_is_a_rejection_as_it_would_be_in_the_sink(tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_bytes((PACKAGES / "doubler" / "1" / "model.yaml").read_bytes())
    (tmp_path / "golden.jsonl").write_text('{"event": {"x": 1}, "score": [1.0, 1.0]}\n')
    code = """class Doubler:
    def __init__(self, package_dir, device): pass
    def prepare(self, events): return [event.x for event in events]
    def forward(self, inputs): return inputs
    def finish(self, outputs): return [object() if x == 2 else (x, 1.0) for x in outputs]
"""
    (tmp_path / "model.py").write_text(code)
    first, second = score_events(tmp_path, [{"x": 3}, {"x": 2}])
    assert first == [3.0, 1.0]
    assert isinstance(second, Rejection)


def test_the_fakes_need_neither_torch_nor_a_model() -> None:
    code = "import sys, pelton.testing; print({'torch', 'numpy', 'aiohttp'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


class Reports:
    """Delivery reports by the value they are for."""

    def __init__(self) -> None:
        self.came: list[tuple[Any, str | None]] = []

    def __call__(self, error: KafkaError | None, message: Any) -> None:
        self.came.append((message.value(), error and error.name()))


def real_producer(**config: Any) -> Producer:
    return Producer({"bootstrap.servers": "127.0.0.1:1", "enable.idempotence": True, "logger": silent, **config})


def fake_producer(**config: Any) -> Any:
    kafka = FakeKafka({"t": 1})
    kafka.reachable = False
    return kafka.producer(config)


@pytest.fixture(params=[real_producer, fake_producer], ids=["real", "fake"])
def producer(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`producer(**config)` makes one that reaches no broker: the real client, and the fake in its place."""
    made = request.param
    assert callable(made)
    return made


def given_up(producer: Any) -> None:
    producer.purge()
    producer.poll(0)


def test_a_full_queue_refuses_one_record_by_buffer_error(producer: Any) -> None:
    client, reports = producer(**{"queue.buffering.max.messages": 2}), Reports()
    for value in (b"1", b"2"):
        client.produce("t", value, on_delivery=reports)
    with pytest.raises(BufferError):
        client.produce("t", b"3", on_delivery=reports)
    given_up(client)
    assert reports.came == [(b"1", "_PURGE_QUEUE"), (b"2", "_PURGE_QUEUE")]


def test_a_full_queue_takes_a_part_of_a_batch_and_says_which(producer: Any) -> None:
    client, reports = producer(**{"queue.buffering.max.messages": 3}), Reports()
    messages: list[dict[str, Any]] = [{"value": b"%d" % n, "key": None} for n in range(5)]
    assert client.produce_batch("t", messages, partition=0, on_delivery=reports) == 3
    names = [message["_error"].name() if "_error" in message else None for message in messages]
    assert names == [None, None, None, "_QUEUE_FULL", "_QUEUE_FULL"]
    given_up(client)
    assert [value for value, _ in reports.came] == [b"0", b"1", b"2"]


def test_a_queue_full_of_bytes_is_full_too(producer: Any) -> None:
    client = producer(**{"queue.buffering.max.kbytes": 1})
    client.produce("t", b"x" * 900)
    with pytest.raises(BufferError):
        client.produce("t", b"x" * 900)
    given_up(client)


@pytest.mark.parametrize(
    "record",
    [{"value": b"x" * 2000}, {"value": b"x", "key": b"k" * 2000}, {"value": b"x", "headers": [("h", b"v" * 2000)]}],
    ids=["value", "key", "headers"],
)
def test_a_record_beyond_the_limit_is_refused_at_once(producer: Any, record: dict[str, Any]) -> None:
    client, reports = producer(**{"message.max.bytes": 1000}), Reports()
    with pytest.raises(KafkaException) as refused:
        client.produce("t", **record, on_delivery=reports)
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    given_up(client)
    assert reports.came == []


def test_a_record_beyond_the_limit_is_left_out_of_its_batch(producer: Any) -> None:
    client, reports = producer(**{"message.max.bytes": 1000}), Reports()
    messages: list[dict[str, Any]] = [{"value": value} for value in (b"1", b"x" * 2000, None, b"")]
    messages[-1]["callback"] = reports
    assert client.produce_batch("t", messages, partition=0) == 3
    assert [message["_error"].code() for message in messages if "_error" in message] == [KafkaError.MSG_SIZE_TOO_LARGE]
    given_up(client)
    assert reports.came == [(b"", "_PURGE_QUEUE")]


def test_a_record_counts_in_the_queue_until_its_report_has_been_heard(producer: Any) -> None:
    client = producer(**{"queue.buffering.max.messages": 1})
    heard: list[str] = []

    def report(_error: KafkaError | None, _message: Any) -> None:
        try:
            client.produce("t", b"2")
            heard.append("taken")
        except BufferError:
            heard.append("full")

    client.produce("t", b"1", on_delivery=report)
    given_up(client)
    assert heard == ["full"]
    client.produce("t", b"3")
    given_up(client)


def test_an_exception_in_a_report_comes_out_of_poll_and_the_others_come_later(producer: Any) -> None:
    client, reports = producer(), Reports()

    def raising(_error: KafkaError | None, _message: Any) -> None:
        raise ZeroDivisionError

    client.produce("t", b"1", on_delivery=raising)
    client.produce("t", b"2", on_delivery=reports)
    client.purge()
    with pytest.raises(ZeroDivisionError):
        client.poll(0)
    assert reports.came == []
    client.poll(0)
    assert reports.came == [(b"2", "_PURGE_QUEUE")]


def test_a_closed_consumer_takes_no_more_calls() -> None:
    real = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "logger": silent})
    for consumer in (real, FakeKafka({"t": 1}).consumer({"group.id": "g"})):
        consumer.close()
        with pytest.raises(RuntimeError, match="closed"):
            consumer.consume(1, 0)
        with pytest.raises(RuntimeError, match="closed"):
            consumer.commit(offsets=[TopicPartition("t", 0, 1)])


def test_what_a_fake_producer_delivers_a_fake_consumer_reads() -> None:
    kafka = FakeKafka({"t": 2})
    producer, reports = kafka.producer({}), Reports()
    producer.produce("t", b"v", b"k", 1, on_delivery=reports, timestamp=5, headers=[("h", b"\xff")])
    assert kafka.read("t") == []
    assert producer.poll(0) == 1
    assert reports.came == [(b"v", None)]
    consumer = kafka.consumer({"group.id": "g"})
    consumer.subscribe(["t"])
    (message,) = consumer.consume(10, 0)
    assert (message.topic(), message.partition(), message.offset(), message.error()) == ("t", 1, 0, None)
    assert (message.key(), message.value(), message.headers()) == (b"k", b"v", [("h", b"\xff")])
    assert message.timestamp()[1] == 5
    assert (len(producer), producer.flush()) == (0, 0)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", [0, 1, 5, 6]), ("latest", [6])])
def test_a_fake_consumer_begins_by_reset_and_a_later_one_where_its_group_left_off(
    reset: str, expected: list[int]
) -> None:
    kafka = FakeKafka({"t": 1})
    for offset in (0, 1, 5):
        kafka.write("t", b"v", offset=offset)
    config = {"group.id": "g", "auto.offset.reset": reset}
    first = kafka.consumer(config)
    first.subscribe(["t"])
    seen = [message.offset() for message in first.consume(10, 0)]
    kafka.write("t", b"v")
    seen += [message.offset() for message in first.consume(10, 0)]
    assert seen == expected
    first.commit(offsets=[TopicPartition("t", 0, 5)], asynchronous=False)
    first.close()
    second = kafka.consumer(config)
    second.subscribe(["t"])
    assert [message.offset() for message in second.consume(10, 0)] == [5, 6]


def test_a_batch_is_refused_as_a_whole_unless_its_records_travel_alone() -> None:
    kafka = FakeKafka({"t": 1})
    invalid = KafkaError(KafkaError.INVALID_RECORD, "no")
    kafka.refuse = lambda message: invalid if message.value() == b"1" else None
    for config, expected in (
        ({}, ["_INVALID_DIFFERENT_RECORD", "INVALID_RECORD", "_INVALID_DIFFERENT_RECORD"]),
        ({"batch.num.messages": 1}, [None, "INVALID_RECORD", None]),
    ):
        producer, reports = kafka.producer(config), Reports()
        for n in range(3):
            producer.produce("t", b"%d" % n, partition=0, on_delivery=reports)
        producer.poll(0)
        assert [name for _, name in reports.came] == expected


def test_a_refusal_ends_a_gapless_producer_by_an_exception_before_its_reports() -> None:
    kafka = FakeKafka({"t": 2})
    kafka.max_bytes["t"] = 10
    producer, reports = kafka.producer({"enable.gapless.guarantee": True}), Reports()
    producer.produce("t", b"x" * 20, partition=0, on_delivery=reports)
    producer.produce("t", b"y", partition=1, on_delivery=reports)
    with pytest.raises(KafkaException) as ended:
        producer.poll(0)
    assert ended.value.args[0].fatal()
    assert reports.came == []
    producer.poll(0)
    assert reports.came == [(b"x" * 20, "MSG_SIZE_TOO_LARGE"), (b"y", "_PURGE_QUEUE")]
    with pytest.raises(KafkaException):
        producer.produce("t", b"z")
    messages: list[dict[str, Any]] = [{"value": b"z"}]
    assert producer.produce_batch("t", messages) == 0
    assert messages[0]["_error"].name() == "_FATAL"


def test_a_gap_in_a_topic_only_opens_forwards() -> None:
    kafka = FakeKafka({"t": 1})
    assert kafka.write("t", b"v", offset=7).offset() == 7
    assert kafka.write("t", b"v").offset() == 8
    with pytest.raises(ValueError, match="ends at 9"):
        kafka.write("t", b"v", offset=8)


def test_a_message_is_one_of_the_real_client() -> None:
    message = make_message(b"v", b"k", topic="t", partition=2, offset=3, headers=[("h", None)], timestamp_ms=9)
    assert (message.topic(), message.partition(), message.offset()) == ("t", 2, 3)
    assert (message.headers(), message.timestamp(), len(message)) == ([("h", None)], (1, 9), 1)
    with pytest.raises(UnicodeDecodeError):
        make_message(b"v", readable=False).headers()
