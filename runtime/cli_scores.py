"""`pelton scores`: show what is in a sink topic."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table

from pelton.cli_serve import Brokers, Config, kafka_properties, topic_name
from pelton.errors import BrokerUnavailable

if TYPE_CHECKING:
    from confluent_kafka import Message

    from pelton.topic_reader import TopicReader

TAIL = 10
SILENCE_S = 30.0


class _Source(msgspec.Struct):
    topic: str
    partition: int
    offset: int


class _Score(msgspec.Struct):
    event_id: str
    model: str
    version: str
    source: _Source
    score: Any


def scores(
    topic: Annotated[str, typer.Option("--topic", "-t", callback=topic_name, help="Topic to read.")],
    table: Annotated[bool, typer.Option("--table", help="Show a table, not a line of JSON for each.")] = False,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Begin with the oldest.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help=f"Most to show (all, or the last {TAIL}).")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as new ones come.")] = False,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Show scores, of committed transactions only: the last ones, or from the beginning.

    One line of JSON each, exactly as in the topic. What is not JSON is shown as
    {"topic", "partition", "offset", "not_json"}.
    """
    from pelton.topic_reader import TopicReader  # noqa: PLC0415

    last = None if from_beginning else limit or TAIL
    reader = TopicReader(kafka_properties(config, brokers), [topic], last)
    try:
        found = _up_to_end(reader) if from_beginning else _newest(reader, limit or TAIL)
        records = islice(chain(found, _later(reader, follow=follow)), limit if from_beginning else None)
        _show_table(records, follow=follow) if table else _show_lines(records, follow=follow)
    finally:
        reader.close()


def _newest(reader: "TopicReader", limit: int) -> Iterator["Message"]:
    """Yield the last records by time, over all partitions."""
    records = sorted(_up_to_end(reader), key=lambda m: (m.timestamp()[1], m.partition() or 0, m.offset() or 0))
    yield from records[-limit:]


def _up_to_end(reader: "TopicReader") -> Iterator["Message"]:
    heard_s = time.monotonic()
    while not reader.at_end:
        records = reader.read()
        yield from records
        if records:
            heard_s = time.monotonic()
        elif time.monotonic() - heard_s > SILENCE_S:
            raise BrokerUnavailable(f"nothing came from the broker for {SILENCE_S:g} s")


def _later(reader: "TopicReader", *, follow: bool) -> Iterator["Message"]:
    while follow:
        yield from reader.read(timeout_s=0.2)


def _show_lines(records: Iterator["Message"], *, follow: bool) -> None:
    for message in records:
        sys.stdout.write(_line(message) + "\n")
        if follow:
            sys.stdout.flush()


def _line(message: "Message") -> str:
    value = message.value() or b""
    try:
        msgspec.json.decode(value)
        return str(value, "utf-8").replace("\n", " ").replace("\r", " ")
    except (msgspec.DecodeError, UnicodeDecodeError):
        place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
        raw = None if message.value() is None else str(value, "utf-8", "replace")
        return msgspec.json.encode({**place, "not_json": raw}).decode()


def _show_table(records: Iterator["Message"], *, follow: bool) -> None:
    console = Console()
    if not follow:
        console.print(_table(map(_cells, records)))
        return
    rows: deque[tuple[str, ...]] = deque(maxlen=max(1, console.height - 6))
    # Drawn by a clock of its own, so that the last record shows although none follows it.
    with Live(get_renderable=lambda: _table(list(rows)), console=console):
        rows.extend(map(_cells, records))


def _whole(name: str) -> Column:
    """Return a column whose words go on in the next line where they are too long: a cut id cannot be looked for."""
    return Column(name, overflow="fold")


def _table(rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table("time", _whole("event"), Column("score", justify="right"), _whole("model"), _whole("source"))
    for row in rows:
        table.add_row(*row)
    return table


def _cells(message: "Message") -> tuple[str, ...]:
    at = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    place = f"{message.topic()}/{message.partition()}/{message.offset()}"
    try:
        found = msgspec.json.decode(message.value() or b"", type=_Score)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return at, escape(str(message.value() or b"", "utf-8", "replace")[:60]), "-", "not a score", place
    score = f"{found.score:.4f}" if isinstance(found.score, float) else str(found.score)[:40]
    source = f"{found.source.topic}/{found.source.partition}/{found.source.offset}"
    return at, escape(found.event_id), escape(score), escape(f"{found.model} {found.version}"), escape(source)
