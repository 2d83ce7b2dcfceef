"""`pelton lag`: what it shows of the looks it takes."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from pelton import cli, cli_lag
from pelton.consumers import group_lag
from pelton.consumers.group_lag import PartitionLag


def at(number: int, position: int, records: int, oldest_s: float | None = None) -> PartitionLag:
    return PartitionLag("in", number, position, 0, position + records, position, records, oldest_s, "reader")


class Asked:
    """Two looks, ten seconds apart; then Ctrl-C is pressed."""

    looks: Sequence[list[PartitionLag]] = ([at(0, 100, 60, 9.5), at(1, 50, 0)], [at(0, 120, 40, 7.5), at(1, 50, 0)])

    def __init__(self, _kafka: object, _group: str, *, reset: str) -> None:
        assert reset == "earliest"
        self.left = list(self.looks)

    def look(self) -> list[PartitionLag]:
        if not self.left:
            raise KeyboardInterrupt
        return self.left.pop(0)

    def close(self) -> None:
        self.left = []


@pytest.fixture
def two_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    clock_s = iter((0.0, 0.0, 10.0, 20.0))
    monkeypatch.setattr(group_lag, "GroupLag", Asked)
    monkeypatch.setattr(cli_lag.time, "monotonic", lambda: next(clock_s))
    monkeypatch.setattr(cli_lag.time, "sleep", lambda _: None)


def test_json_has_a_line_a_look_and_the_drain_time_from_the_second_on(
    two_looks: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pelton", "lag", "g", "--json", "--watch"])
    with pytest.raises(SystemExit):
        cli.main()
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["group"], first["records"], second["records"]) == ("g", 60, 40)
    # 20 records in ten seconds are two a second, and 40 are left.
    assert [each["drain_s"] for each in first["partitions"]] == [None, 0.0]
    assert [each["drain_s"] for each in second["partitions"]] == [20.0, 0.0]


def test_b16_a_group_that_is_set_back_meanwhile_has_no_drain_time(
    two_looks: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Asked, "looks", ([at(0, 100, 60)], [at(0, 20, 140)]))
    monkeypatch.setattr(sys, "argv", ["pelton", "lag", "g", "--json", "--watch"])
    with pytest.raises(SystemExit):
        cli.main()
    assert [json.loads(line)["partitions"][0]["drain_s"] for line in capsys.readouterr().out.splitlines()] == [None] * 2


def test_a_watch_in_a_pipe_prints_every_look(
    two_looks: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pelton", "lag", "g", "--watch"])
    with pytest.raises(SystemExit):
        cli.main()
    rows = [line.split() for line in capsys.readouterr().out.replace("│", " ").splitlines()]
    assert [row[1] for row in rows if row[:1] == ["all"]] == ["60", "40"]


def test_the_table_adds_up() -> None:
    console = Console(width=120)
    with console.capture() as shown:
        console.print(cli_lag.table([at(0, 120, 40, 7.5), at(1, 50, 4, 8.25)], {("in", 0): 2.0, ("in", 1): 0.0}))
    rows = [line.split() for line in shown.get().replace("│", " ").splitlines()]
    assert ["in", "0", "120", "160", "40", "7.5", "s", "20.0", "s", "reader"] in rows
    assert ["in", "1", "50", "54", "4", "8.2", "s", "-", "reader"] in rows
    assert ["all", "44", "8.2", "s", "22.0", "s"] in rows
