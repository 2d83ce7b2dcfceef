"""`pelton lag`: how far a consumer group is behind."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table

from pelton.cli_serve import Brokers, Config, kafka_properties

if TYPE_CHECKING:
    from pelton.consumers.assignment import Partition
    from pelton.consumers.group_lag import GroupLag, PartitionLag

Rates = dict["Partition", float]


def lag(
    group: Annotated[str, typer.Argument(help="Consumer group; any group, Pelton's or not.")],
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again and again, and tell the drain time.")
    ] = False,
    every_s: Annotated[float, typer.Option("--every", min=0.1, help="Seconds between two looks.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each look.")] = False,
    latest: Annotated[bool, typer.Option("--latest", help="Without a commit the group begins at the end.")] = False,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Show how far a consumer group is behind: records left, and the age of the oldest of them.

    What cannot be read is not counted: transaction markers, aborted and deleted records. The group is not touched.
    """
    from pelton.consumers.group_lag import GroupLag  # noqa: PLC0415

    asked = GroupLag(kafka_properties(config, brokers), group, reset="latest" if latest else "earliest")
    try:
        looks = _looks(asked, every_s if watch else None)
        _print_json(group, looks) if as_json else _print_tables(looks, watch=watch)
    finally:
        asked.close()


def _looks(asked: "GroupLag", every_s: float | None) -> Iterator[tuple[list["PartitionLag"], Rates]]:
    """Yield what each look finds, with the records a second that were done since the one before."""
    before: dict[Partition, int] = {}
    looked_s = time.monotonic()
    while True:
        found, now_s = asked.look(), time.monotonic()
        passed_s = now_s - looked_s
        # A group that was set back does nothing of what is left.
        yield found, {at.at: max(0, at.position - before[at.at]) / passed_s for at in found if at.at in before}
        if every_s is None:
            return
        before, looked_s = {at.at: at.position for at in found}, now_s
        time.sleep(every_s)


def drain_s(records: int, per_s: float | None) -> float | None:
    """Return how long the records left will take, None while that is unknown or nothing is done."""
    if records == 0:
        return 0.0
    return records / per_s if per_s else None


def _print_json(group: str, looks: Iterator[tuple[list["PartitionLag"], Rates]]) -> None:
    for found, rates in looks:
        told = [asdict(at) | {"drain_s": drain_s(at.records, rates.get(at.at))} for at in found]
        line = {"group": group, "records": sum(at.records for at in found), "partitions": told}
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
        sys.stdout.flush()


def _print_tables(looks: Iterator[tuple[list["PartitionLag"], Rates]], *, watch: bool) -> None:
    console = Console()
    if not (watch and console.is_terminal):  # elsewhere a live table would show only its end
        for found, rates in looks:
            console.print(table(found, rates))
        return
    with Live(console=console, auto_refresh=False) as live:
        for found, rates in looks:
            live.update(table(found, rates), refresh=True)


def table(found: Sequence["PartitionLag"], rates: Rates) -> Table:
    """Return a look as a table, the sum below it."""
    numbers = [Column(name, justify="right") for name in ("committed", "end", "lag", "oldest", "drain")]
    shown = Table(Column("topic", overflow="fold"), Column("partition", justify="right"), *numbers, "member")
    for at in found:
        committed = "-" if at.committed is None else str(at.committed)
        times = _seconds(at.oldest_s), _seconds(drain_s(at.records, rates.get(at.at)))
        shown.add_row(
            escape(at.topic), str(at.partition), committed, str(at.end), str(at.records), *times, escape(at.member)
        )
    total, per_s = sum(at.records for at in found), sum(rates.values())
    oldest_s = max((at.oldest_s for at in found if at.oldest_s is not None), default=None)
    shown.add_section()
    shown.add_row("all", "", "", "", str(total), _seconds(oldest_s), _seconds(drain_s(total, per_s)), "")
    return shown


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
