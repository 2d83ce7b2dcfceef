"""`pelton request`: what it asks, what it shows, and how it ends; on Kafka in memory, answered by the test."""

import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pelton import asking, cli
from pelton.errors import CircuitOpen
from pelton.producers import threaded_client
from pelton.producers.switchboard import Switchboard
from pelton.testing import FakeKafka

HERE = ("--topic", "asked", "--reply-topic", "answered")
Ask = Callable[..., tuple[int, list[str], str]]


class Replier(threading.Thread):
    """Answers a number under `x` by twice of it, `fail` by that code, and `silent` not at all."""

    def __init__(self, kafka: FakeKafka) -> None:
        super().__init__(daemon=True)
        self.values: list[Any] = []
        self.over = threading.Event()
        self._kafka = kafka

    def run(self) -> None:
        while not self.over.wait(0.002):
            for message in self._kafka.read("asked")[len(self.values) :]:
                self.answer(message)

    def answer(self, message: Any) -> None:
        asked = json.loads(message.value())["inputs"]
        self.values.append(asked)
        events = asked if isinstance(asked, list) else [asked]
        told: dict[str, Any] = {"code": "ok", "data": [2 * event.get("x", 0) for event in events]}
        if events is not asked:
            told["data"] = told["data"][0]
        if code := events[0].get("fail"):
            told = {"code": code, "error": f"asked\nfor {code}", "trace_id": "t"}
        if not events[0].get("silent"):
            call_id = dict(message.headers())["kafka_correlationId"]
            self._kafka.write("answered", json.dumps(told).encode(), headers=[("kafka_correlationId", call_id)])


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka({"asked": 1, "answered": 1})


@pytest.fixture
def replier(kafka: FakeKafka) -> Iterator[Replier]:
    replier = Replier(kafka)
    replier.start()
    yield replier
    replier.over.set()
    replier.join()


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch, kafka: FakeKafka, tmp_path: Path) -> list[Any]:
    """The options of the clients that were made, in a folder without a settings file."""
    made: list[Any] = []

    def board(given: Any, deliver: Any, **_: Any) -> Switchboard:
        made.append(given)
        return Switchboard(given, deliver, make_producer=kafka.producer, make_consumer=kafka.consumer)

    monkeypatch.setattr(threaded_client, "Switchboard", board)
    monkeypatch.setattr("pelton.logs.configure_logs", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def ask(
    options: list[Any], replier: Replier, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    def run(*arguments: str) -> tuple[int, list[str], str]:
        monkeypatch.setattr(sys, "argv", ["pelton", "request", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err.strip()

    return run


def test_one_event_is_asked_about_and_its_answer_shown(ask: Ask, replier: Replier) -> None:
    code, lines, said = ask(*HERE, "--inputs", '{"x": 21}')
    (line,) = map(json.loads, lines)
    assert (code, replier.values) == (0, [{"x": 21}])
    assert 0 < line.pop("latency_ms") < 60_000
    assert line == {"call": 1, "code": "ok", "answer": 42}
    assert said.startswith("1 call: 1 ok; p50 ")


def test_a_list_is_one_call_with_a_list_for_an_answer(ask: Ask, replier: Replier) -> None:
    code, lines, _ = ask(*HERE, "--inputs", '[{"x": 1}, {"x": 2}]')
    assert (code, json.loads(lines[0])["answer"], len(replier.values)) == (0, [2, 4], 1)


def test_rows_of_a_file_are_asked_about_in_order(ask: Ask, replier: Replier, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,name\n" + "".join(f"{n},0{n}\n" for n in range(50)))
    code, lines, said = ask(*HERE, "--file", "a.csv", "--text", "name", "--limit", "40", "--rate", "2000")
    assert (code, said.partition(";")[0]) == (0, "40 calls: 40 ok")
    assert [json.loads(line)["answer"] for line in lines] == list(range(0, 80, 2))
    assert replier.values == [{"x": n, "name": f"0{n}"} for n in range(40)]


def test_an_absent_value_in_a_row_stays_one(ask: Ask, replier: Replier, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": null}\n')
    assert ask(*HERE, "--file", "a.jsonl")[0] == 0
    assert replier.values == [{"x": 1, "y": None}]


def test_a_call_that_fails_is_shown_in_its_place_and_ends_it_with_one(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"fail": "invalid"}\n{"x": 3}\n')
    code, lines, said = ask(*HERE, "--file", "a.jsonl")
    one, two, three = map(json.loads, lines)
    assert (code, one["answer"], three["answer"]) == (1, 2, 6)
    assert (two["code"], two["error"]) == ("invalid", "invalid: asked\nfor invalid")
    assert said.startswith("3 calls: 2 ok, 1 invalid; p50 ")


def test_b37_no_answer_by_the_deadline_is_a_code(ask: Ask) -> None:
    code, lines, said = ask(*HERE, "--inputs", '{"silent": true}', "--deadline", "0.05")
    assert (code, json.loads(lines[0])["code"]) == (1, "expired")
    assert said.startswith("1 call: 1 expired; ")
    assert "no answer came at all: does a worker serve asked (" in said
    assert "may it answer into answered (" in said


@pytest.mark.parametrize("rows", ['{"fail": "expired"}', '{"silent": true}\n{"x": 1}'])
def test_an_answer_of_any_kind_means_that_somebody_serves(ask: Ask, tmp_path: Path, rows: str) -> None:
    (tmp_path / "a.jsonl").write_text(rows)
    _, lines, said = ask(*HERE, "--file", "a.jsonl", "--deadline", "0.3")
    assert json.loads(lines[0])["code"] == "expired"
    assert "no answer came" not in said


def test_what_cannot_be_sent_is_shown_in_its_place(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise CircuitOpen("not_ready: the circuit is open")

    monkeypatch.setattr(threaded_client.RequestReplyClient, "submit", refuse)
    code, lines, _ = ask(*HERE, "--inputs", "1")
    assert (code, json.loads(lines[0])["code"]) == (1, "not_ready")


def test_a_table_shows_the_same(ask: Ask) -> None:
    code, lines, _ = ask(*HERE, "--inputs", '{"x": 21}', "--table")
    assert code == 0
    assert any({"1", "ok", "42"} <= set(line.split()) for line in lines)


SETTINGS = """
kafka: {bootstrap.servers: "file:1"}
requests: {topics: [asked, more], group: g, reply_topics: ["any-*", answered]}
"""


def test_topics_and_brokers_come_from_the_settings(ask: Ask, options: list[Any], tmp_path: Path) -> None:
    (tmp_path / "pelton.yaml").write_text(SETTINGS)
    assert ask("--inputs", '{"x": 1}', "--deadline", "5")[0] == 0
    (made,) = options
    assert (made.requests, made.replies, made.deadline_s) == ("asked", "answered", 5.0)
    assert made.properties["bootstrap.servers"] == "file:1"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--inputs", "1", "--reply-topic", "answered"], "name the --topic"),
        (["--inputs", "1", "--topic", "asked"], "name the --reply-topic"),
        ([*HERE], "give either --inputs or --file"),
        ([*HERE, "--inputs", "1", "--file", "a.csv"], "give either --inputs or --file"),
        ([*HERE, "--inputs", "{x"], "is not JSON"),
        ([*HERE, "--inputs", "[" * 5000 + "]" * 5000], "is not JSON"),
        ([*HERE, "--inputs", "\udcff"], "is not JSON"),
        ([*HERE, "--inputs", "1", "--topic", "two words"], "is not a name Kafka allows"),
    ],
)
def test_what_cannot_work_is_a_usage_error(ask: Ask, arguments: list[str], why: str) -> None:
    code, lines, said = ask(*arguments)
    assert (code, lines) == (2, [])
    assert why in " ".join(said.replace("│", " ").split())


def test_a_deadline_no_call_can_have_is_refused(ask: Ask) -> None:
    code, _, said = ask(*HERE, "--inputs", "1", "--deadline", "0")
    assert (code, "deadline_s: must be more than 0" in said) == (2, True)


def test_ctrl_c_says_how_far_it_came(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numbers = itertools.count()

    def interrupt(self: asking.Asking, number: int, question: Any) -> None:
        if next(numbers) == 3:
            raise KeyboardInterrupt
        return real(self, number, question)

    real: Any = asking.Asking._ask
    monkeypatch.setattr(asking.Asking, "_ask", interrupt)
    monkeypatch.setattr(asking, "MOST_WAITING", 1)
    (tmp_path / "a.csv").write_text("x\n1\n2\n3\n4\n")
    code, lines, said = ask(*HERE, "--file", "a.csv")
    assert (code, len(lines)) == (130, 3)
    assert said.startswith("interrupted: 3 calls: 3 ok; p50 ")


def test_quantiles_are_by_rank() -> None:
    tally = asking.Tally(took_s=[float(n) for n in range(100, 0, -1)])
    assert [tally.quantile_s(rank) for rank in (0.0, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]
    assert asking.Tally().quantile_s(0.5) == 0
