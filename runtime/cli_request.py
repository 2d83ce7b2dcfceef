"""`pelton request`: ask a served model from the shell."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pelton.cli_produce import INTERRUPTED
from pelton.cli_serve import Brokers, Config, client_settings, topic_name

if TYPE_CHECKING:
    from pelton.asking import Asked, Tally
    from pelton.schemas.settings import Settings

SHOWN = 60
NOBODY = (
    "no answer came at all: does a worker serve {0} (`pelton lag` with the group of its requests tells how far it is), "
    "and may it answer into {1} (its `requests.reply_topics`)?"
)


def _optional_topic(text: str | None) -> str | None:
    return None if text is None else topic_name(text)


def request(
    inputs: Annotated[str | None, typer.Option(help="JSON: one event, or a list to be answered by a list.")] = None,
    file: Annotated[Path | None, typer.Option(help="CSV, JSON Lines or Parquet file; each row is a call.")] = None,
    topic: Annotated[
        str | None,
        typer.Option("--topic", "-t", callback=_optional_topic, help="Request topic (that of the settings)."),
    ] = None,
    reply_topic: Annotated[
        str | None, typer.Option(callback=_optional_topic, help="Topic to read answers from (that of the settings).")
    ] = None,
    deadline: Annotated[float, typer.Option(help="Seconds to wait for each answer, 600 at most.")] = 10.0,
    rate: Annotated[float, typer.Option(min=0, help="Calls a second; 0 for as fast as answers come.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only about the first rows, so many.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="CSV column to keep as text; may be repeated.")] = None,
    table: Annotated[bool, typer.Option("--table", help="Show a table, not a line of JSON for each.")] = False,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Ask a served model over its request topic, and show answer, code and latency of each call.

    With a file up to a thousand calls are on their way at once, unless a rate is given. Ends with 0 when every call
    got a score.
    """
    from pelton.asking import Asking  # noqa: PLC0415
    from pelton.logs import configure_logs  # noqa: PLC0415
    from pelton.producers.client import RequestReplyClient  # noqa: PLC0415

    configure_logs("warning")
    questions = _questions(inputs, file, text or (), limit)
    settings = client_settings(config, brokers)
    asked_at, answered_at = _topics(settings, topic, reply_topic)
    client = RequestReplyClient(
        kafka=dict(settings.kafka), requests=asked_at, replies=answered_at, deadline_s=deadline, most_pending=1
    )
    with client:
        asking = Asking(client, deadline, rate)
        try:
            show = _show_table if table else _show_lines
            show(asking.run(questions))
        except KeyboardInterrupt:
            client.close(0.0)
            typer.echo(f"interrupted: {_summary(asking.tally)}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    typer.echo(_summary(asking.tally), err=True)
    if asking.tally.silent == asking.tally.n > 0:
        typer.echo(NOBODY.format(asked_at, answered_at), err=True)
    if asking.tally.failed:
        raise typer.Exit(1)


def _questions(inputs: str | None, file: Path | None, text: Iterable[str], limit: int | None) -> Iterator[Any]:
    if (inputs is None) == (file is None):
        raise typer.BadParameter("give either --inputs or --file")
    if file is not None:
        from pelton.source_files import SourceFile  # noqa: PLC0415

        return (msgspec.json.decode(row.value) for row in islice(SourceFile(file, text).rows(), limit))
    try:
        return iter([msgspec.json.decode(inputs or "")])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise typer.BadParameter(f"--inputs is not JSON: {error}") from error


def _topics(settings: "Settings", topic: str | None, reply_topic: str | None) -> tuple[str, str]:
    requests = settings.requests
    if topic is None and requests is not None:
        topic = requests.topics[0]
    if reply_topic is None and requests is not None:
        reply_topic = next(iter(requests.named_reply_topics), None)
    if topic is None:
        raise typer.BadParameter("name the --topic, or give the --config that has `requests:`")
    if reply_topic is None:
        raise typer.BadParameter("name the --reply-topic: the settings name none, or only patterns")
    return topic, reply_topic


def _show_lines(calls: Iterable["Asked"]) -> None:
    for call in calls:
        told = {"answer": call.answer} if call.error is None else {"error": call.error}
        line = {"call": call.number, "code": call.code, **told, "latency_ms": round(call.took_s * 1000, 3)}
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
        sys.stdout.flush()


def _show_table(calls: Iterable["Asked"]) -> None:
    rows = Table(Column("call", justify="right"), "code", "answer", Column("ms", justify="right"))
    try:
        for call in calls:
            said = call.error or msgspec.json.encode(call.answer).decode()
            rows.add_row(str(call.number), call.code, escape(said[:SHOWN]), f"{call.took_s * 1000:.1f}")
    finally:
        Console().print(rows)


def _summary(tally: "Tally") -> str:
    codes = ", ".join(f"{n} {code}" for code, n in tally.codes.most_common()) or "none ended"
    p50_ms, p99_ms = (tally.quantile_s(rank) * 1000 for rank in (0.5, 0.99))
    return f"{tally.n} call{'' if tally.n == 1 else 's'}: {codes}; p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms"
