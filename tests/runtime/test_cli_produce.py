"""`pelton produce`: what it sends, and what it says when not all of it arrives."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton import cli

Produce = Callable[..., tuple[int, str]]


class Broker:
    """A producer that confirms in poll, except `fails`."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes | None, bytes | None]] = []
        self.open: list[tuple[bytes | None, Any]] = []
        self.fails: bytes | None = None
        self.interrupts_after: int | None = None

    def produce(self, topic: str, *, value: bytes | None, key: bytes | None, on_delivery: Any) -> None:
        assert topic == "t"
        if len(self.sent) == self.interrupts_after:
            raise KeyboardInterrupt
        self.sent.append((key, value))
        self.open.append((value, on_delivery))

    def poll(self, _timeout: float, /) -> int:
        waiting, self.open = self.open, []
        for value, report in waiting:
            report(KafkaError(KafkaError._MSG_TIMED_OUT, "timed out") if value == self.fails else None, value)
        return len(waiting)

    def __len__(self) -> int:
        return len(self.open)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Broker:
    broker = Broker()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pelton.producers.replay.replay_producer", lambda _: broker)
    monkeypatch.setattr("pelton.topics.describe", lambda _, names: dict.fromkeys(set(names) & {"t"}, 1))
    (tmp_path / "a.csv").write_text("id,n\n" + "".join(f"F{i},{i}\n" for i in range(600)))
    return broker


@pytest.fixture
def produce(broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Produce:
    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pelton", "produce", *arguments])
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0), capsys.readouterr().err.strip()
        return 0, capsys.readouterr().err.strip()

    return run


def test_rows_become_events_with_their_keys(produce: Produce, broker: Broker) -> None:
    assert produce("a.csv", "--topic", "t", "--key", "id") == (0, "600 rows delivered to t")
    assert broker.sent == [(b"F%d" % i, b'{"id":"F%d","n":%d}' % (i, i)) for i in range(600)]


def test_keys_may_be_numbers_or_absent(produce: Produce, broker: Broker) -> None:
    produce("a.csv", "-t", "t", "--key", "n", "--limit", "1")
    produce("a.csv", "-t", "t", "--limit", "1")
    assert [key for key, _ in broker.sent] == [b"0", None]


def test_limit_ends_it_in_time(produce: Produce, broker: Broker) -> None:
    assert produce("a.csv", "-t", "t", "--limit", "7") == (0, "7 rows delivered to t")
    assert len(broker.sent) == 7


def test_an_unknown_topic_is_refused_before_anything_is_sent(produce: Produce, broker: Broker) -> None:
    code, said = produce("a.csv", "-t", "nope")
    assert (code, broker.sent) == (1, [])
    assert said == "error: no topic nope at 127.0.0.1:9092; create it first, as by `pelton kafka topics nope:4`"


def test_a_row_that_does_not_arrive_is_told_and_counted(produce: Produce, broker: Broker) -> None:
    broker.fails = b'{"id":"F9","n":9}'
    assert produce("a.csv", "-t", "t") == (1, "error: 9 rows delivered to t, 1 not: timed out")


def test_a_broken_line_ends_it_and_says_how_far_it_came(produce: Produce, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"a":1}\n{"a":2}\nnot json\n')
    code, said = produce("b.jsonl", "-t", "t")
    assert code == 1
    assert said.startswith("error: b.jsonl:3: not JSON")
    assert said.endswith("; 2 rows delivered to t")


def test_a_row_without_the_key_field_names_its_line(produce: Produce, tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"a":1}\n{"b":2}\n')
    assert produce("b.jsonl", "-t", "t", "--key", "a") == (
        1,
        "error: b.jsonl:2: no field 'a' for the key; 1 rows delivered to t",
    )


def test_ctrl_c_says_what_arrived(produce: Produce, broker: Broker) -> None:
    broker.interrupts_after = 5
    assert produce("a.csv", "-t", "t") == (130, "interrupted: 5 rows delivered to t")


def test_columns_can_stay_text(produce: Produce, broker: Broker) -> None:
    produce("a.csv", "-t", "t", "--limit", "1", "--text", "n")
    assert broker.sent == [(None, b'{"id":"F0","n":"0"}')]
