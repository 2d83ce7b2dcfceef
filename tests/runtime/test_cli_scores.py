"""`pelton scores`: which records it shows, and how."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pelton import cli

Scores = Callable[..., list[str]]


class Record:
    """A stand-in for a message of the client."""

    def __init__(self, at_ms: int, value: bytes | None, partition: int = 0) -> None:
        self.topic = lambda: "s"
        self.value = lambda: value
        self.partition = lambda: partition
        self.offset = lambda: at_ms
        self.timestamp = lambda: (1, at_ms)


def score(event_id: str, at_ms: int, partition: int = 0) -> Record:
    source = {"topic": "in", "partition": partition, "offset": at_ms}
    fields = {"event_id": event_id, "model": "m", "version": "1@0", "source": source, "score": 0.25}
    return Record(at_ms, json.dumps(fields).encode(), partition)


class Reader:
    """A reader over the pieces in `waiting`; the topic ends where `more` begins, after which Ctrl-C is pressed."""

    waiting: Sequence[list[Record]] = []
    more: Sequence[list[Record]] = []
    last: int | None = None

    def __init__(self, _kafka: object, _names: list[str], last: int | None) -> None:
        Reader.last = last
        self.left, self.later = list(self.waiting), list(self.more)

    @property
    def at_end(self) -> bool:
        return not self.left

    def read(self, timeout_s: float = 0.1) -> list[Record]:
        if self.left:
            return self.left.pop(0)
        if not self.later:
            raise KeyboardInterrupt
        return self.later.pop(0)

    def close(self) -> None:
        self.left = self.later = []


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Scores:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pelton.topic_reader.TopicReader", Reader)
    monkeypatch.setattr(Reader, "waiting", [[score("b", 2, 1), score("d", 4, 1)], [], [score("a", 1), score("c", 3)]])
    monkeypatch.setattr(Reader, "more", [[score("e", 5)], [score("f", 6)]])

    def run(*arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["pelton", "scores", "--topic", "s", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == (130 if "--follow" in arguments and "-n" not in arguments else 0)
        return capsys.readouterr().out.splitlines()

    return run


def ids(lines: list[str]) -> list[str]:
    return [json.loads(line)["event_id"] for line in lines]


def test_the_last_ones_by_time_over_all_partitions(scores: Scores) -> None:
    assert ids(scores("--limit", "3")) == ["b", "c", "d"]
    assert Reader.last == 3


def test_ten_by_default(scores: Scores) -> None:
    assert ids(scores()) == ["a", "b", "c", "d"]
    assert Reader.last == 10


def test_from_the_beginning_up_to_the_present_end(scores: Scores) -> None:
    assert ids(scores("--from-beginning")) == ["b", "d", "a", "c"]
    assert Reader.last is None


def test_from_the_beginning_no_more_than_the_limit(scores: Scores) -> None:
    assert ids(scores("--from-beginning", "-n", "2")) == ["b", "d"]
    assert ids(scores("--from-beginning", "--follow", "-n", "5")) == ["b", "d", "a", "c", "e"]


def test_following_goes_on_until_ctrl_c(scores: Scores) -> None:
    assert ids(scores("--follow")) == ["a", "b", "c", "d", "e", "f"]


def test_b33_what_is_not_json_or_not_text_is_shown_and_ends_nothing(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [Record(1, b"\xff{"), Record(2, None), Record(3, b""), Record(4, b'{\n"a":\r1}'), score("z", 5)]
    monkeypatch.setattr(Reader, "waiting", [odd])
    lines = scores()
    assert [json.loads(line) for line in lines[:4]] == [
        {"topic": "s", "partition": 0, "offset": 1, "not_json": "\ufffd{"},
        {"topic": "s", "partition": 0, "offset": 2, "not_json": None},
        {"topic": "s", "partition": 0, "offset": 3, "not_json": ""},
        {"a": 1},
    ]
    assert ids(lines[4:]) == ["z"]


def test_a_table_has_a_row_for_each(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    odd = [Record(1, b"[bold]\xff"), score("[red]a", 2, 3)]
    monkeypatch.setattr(Reader, "waiting", [odd])
    text = "\n".join(scores("--table"))
    assert "[bold]\ufffd" in text
    assert "not a score" in text
    assert "[red]a" in text
    assert "0.2500" in text
    assert "m 1@0" in text
    assert "in/3/2" in text
