"""`pelton produce`: replay a file into a topic."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Eta

from pelton.cli_serve import Brokers, Config, kafka_properties, topic_name
from pelton.errors import DeliveryFailed, SourceFileError, TopicMissing

if TYPE_CHECKING:
    from pelton.producers.replay import Tally
    from pelton.source_files import Row, SourceFile

INTERRUPTED = 130


def produce(
    file: Annotated[Path, typer.Argument(help="CSV, JSON Lines or Parquet file.", show_default=False)],
    topic: Annotated[str, typer.Option("--topic", "-t", callback=topic_name, help="Topic to send the rows to.")],
    key: Annotated[str | None, typer.Option(help="Field whose value becomes the record key.")] = None,
    rate: Annotated[float, typer.Option(min=0, help="Rows a second; 0 for as fast as possible.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Send only the first rows, so many.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="CSV column to keep as text; may be repeated.")] = None,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Replay the rows of a file into a topic as JSON events, in order.

    A record's timestamp is the time of sending, never a time of the event. Ends with 0 when the broker
    has confirmed every row.
    """
    from pelton import topics  # noqa: PLC0415
    from pelton.producers.replay import Replay, replay_producer  # noqa: PLC0415
    from pelton.source_files import SourceFile  # noqa: PLC0415

    source = SourceFile(file, text or ())
    kafka = kafka_properties(config, brokers)
    if topic not in topics.describe(kafka, [topic]):
        where = f"{topic} at {kafka['bootstrap.servers']}"
        raise TopicMissing(f"no topic {where}; create it first, as by `pelton kafka topics {topic}:4`")
    replay = Replay(replay_producer(kafka), topic, rate)
    try:
        replay.run(_with_progress(source, key, limit, replay.tally))
    except KeyboardInterrupt:
        replay.confirm(5.0)
        typer.echo(f"interrupted: {_summary(replay.tally, topic)}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except SourceFileError as error:
        replay.confirm(10.0)
        raise SourceFileError(f"{error}; {_summary(replay.tally, topic)}") from error
    if replay.tally.delivered < replay.tally.taken:
        why = replay.tally.why or "no word from the broker"
        raise DeliveryFailed(f"{_summary(replay.tally, topic)}: {why}")
    typer.echo(_summary(replay.tally, topic), err=True)


def _summary(tally: "Tally", topic: str) -> str:
    confirmed = f"{tally.delivered} rows delivered to {topic}"
    return confirmed if tally.delivered == tally.taken else f"{confirmed}, {tally.taken - tally.delivered} not"


def _with_progress(
    source: "SourceFile", key: str | None, limit: int | None, tally: "Tally"
) -> Iterator[tuple[bytes | None, bytes]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]} rows, {task.fields[per_s]}/s"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        Eta(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(source.path.name, total=1.0, rows=0, per_s=0)
        for count, row in enumerate(source.rows(), 1):
            yield _key_of(row, key, source), row.value
            if count % 256 == 0:
                done = max(source.fraction, count / limit if limit else 0.0)
                per_s = tally.delivered / (progress.tasks[task].elapsed or 1.0)
                progress.update(task, completed=done, rows=tally.delivered, per_s=round(per_s))
            if count == limit:
                return


def _key_of(row: "Row", key: str | None, source: "SourceFile") -> bytes | None:
    if key is None:
        return None
    value = row.fields.get(key)
    if value is None:
        raise SourceFileError(f"{source.path}:{row.number}: no field {key!r} for the key")
    return (value if isinstance(value, str) else str(value)).encode()
