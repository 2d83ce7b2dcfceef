"""`pelton kafka`: a real Kafka for the laptop, from the command line."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from pelton.cli_serve import Brokers, Config, chosen, kafka_properties
from pelton.errors import KafkaFailure, LocalKafkaError
from pelton.kafka_fetch import KAFKA_VERSION
from pelton.logs import configure_logs

if TYPE_CHECKING:
    from pelton.kafka_process import KafkaStatus
    from pelton.local_kafka import LocalKafka

DEFAULT_DATA_DIR = Path(".pelton/kafka")
DEFAULT_PORT = 9092
WATCH_EVERY_S = 0.5

app = typer.Typer(no_args_is_help=True, help="Run a real Apache Kafka on this machine: no Docker, no Java needed.")

DataDir = Annotated[Path, typer.Option(help="Folder that keeps the topics, the log and the settings.")]


@app.command()
def up(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help=f"Port for clients (last time's, else {DEFAULT_PORT})."),
    ] = None,
    heap: Annotated[int, typer.Option(min=128, help="Java heap in MiB.")] = 512,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait until it is ready.")] = 180.0,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay here; Ctrl-C stops it.")] = False,
) -> None:
    """Start Kafka and wait until it answers; does nothing when it is up already."""
    with _clear_errors():
        remembered = _local_kafka(data_dir).remembered_bootstrap
        kafka = _local_kafka(data_dir, port or (None if remembered else DEFAULT_PORT), heap)
        with _err().status("Starting Kafka; the first time it is fetched, which takes about half a minute"):
            bootstrap = kafka.up(timeout, detach=not foreground)
        _out().print(f"Kafka {KAFKA_VERSION} is up at [bold green]{bootstrap}[/]", highlight=False)
        if foreground:
            _stay(kafka)


@app.command()
def down(
    data_dir: DataDir = DEFAULT_DATA_DIR,
    delete_data: Annotated[bool, typer.Option("--delete-data", help="Also delete all topics.")] = False,
) -> None:
    """Stop Kafka; its topics stay for the next start."""
    with _clear_errors():
        kafka = _local_kafka(data_dir)
        none = f"no Kafka of {escape(str(kafka.data_dir))} was up; --data-dir names another"
        _out().print("Kafka is down" if kafka.down() else none, soft_wrap=True)
        if delete_data:
            kafka.delete_data()
            _out().print("its data are deleted")


@app.command()
def status(data_dir: DataDir = DEFAULT_DATA_DIR) -> None:
    """Show whether Kafka is up and where; exit code 0 when it is, else 1."""
    with _clear_errors():
        kafka = _local_kafka(data_dir)
        known = kafka.status()
        for name, value in _lines(kafka, known):
            _out().print(f"{name:<10} {value}", highlight=False)
    if not known.running:
        raise typer.Exit(1)


@app.command()
def topics(
    wanted: Annotated[
        list[str] | None, typer.Argument(metavar="NAME:PARTITIONS", help="Topics to create.", show_default=False)
    ] = None,
    n: Annotated[
        int, typer.Option("--partitions", min=1, help="Partitions of each topic of the settings; of dead letters, 1.")
    ] = 4,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Create topics and wait until they can be used; one that exists is left as it is.

    Without names, the topics of the settings file: input, sink, dead letters, requests and replies. Of the reply
    topics those that are named in full; a pattern names none.
    """
    from pelton.topics import create, describe  # noqa: PLC0415

    partitions = dict(map(_topic, wanted)) if wanted else _of_settings(chosen(config), n)
    kafka = kafka_properties(config, brokers)
    with _clear_errors():
        create(kafka, partitions)
        found = describe(kafka, partitions)
    for name, count in found.items():
        asked = "" if count == partitions[name] else f", left as it is ({partitions[name]} asked for)"
        _out().print(f"{escape(name)} has {count} partition{'s' if count > 1 else ''}{asked}", highlight=False)


def _topic(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition(":")
    if not name or not count.isdecimal() or not int(count):
        raise typer.BadParameter(f"{text!r} is not NAME:PARTITIONS, as in payments:4")
    return name, int(count)


def _of_settings(config: Path | None, n: int) -> dict[str, int]:
    from pelton.schemas.settings import load_settings  # noqa: PLC0415
    from pelton.settings_roles import roles_of  # noqa: PLC0415

    if config is None:
        raise typer.BadParameter("name the topics as NAME:PARTITIONS, or give the --config that names them")
    settings = load_settings(config, {})
    return {topic: 1 if role == "stream.dead_letter" else n for topic, role in roles_of(settings).items()}


def _local_kafka(data_dir: Path, port: int | None = None, heap_mb: int = 512) -> "LocalKafka":
    # Late, so that `pelton --help` works without the extra [local].
    from pelton.local_kafka import LocalKafka  # noqa: PLC0415

    return LocalKafka(data_dir, port, heap_mb)


def _lines(kafka: "LocalKafka", known: "KafkaStatus") -> Iterator[tuple[str, str]]:
    yield "state", "[bold green]up[/]" if known.running else "[bold red]down[/]"
    if known.pid is not None and known.started_s is not None:
        yield "bootstrap", str(known.bootstrap)
        yield "version", KAFKA_VERSION
        yield "pid", str(known.pid)
        yield "up for", f"{time.time() - known.started_s:.0f} s"
        yield "memory", f"{known.resident_bytes / 2**20:.0f} MiB"
    yield "data", escape(str(kafka.data_dir))
    yield "log", escape(str(kafka.log_file))


def _stay(kafka: "LocalKafka") -> None:
    """Wait until Ctrl-C or SIGTERM, then stop the broker; a broker that dies meanwhile is an error."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while kafka.status().running:
            time.sleep(WATCH_EVERY_S)
    except KeyboardInterrupt:
        kafka.down()
        _out().print("Kafka is down")
        return
    raise LocalKafkaError(f"Kafka died; see {kafka.log_file}")


@contextmanager
def _clear_errors() -> Iterator[None]:
    configure_logs("warning")  # what the commands print says the same
    try:
        yield
    except (LocalKafkaError, KafkaFailure) as error:
        _fail(str(error), error)
    except ImportError as error:
        _fail(f"a local Kafka needs the extra [local]: pip install 'pelton[local]' ({error})", error)


def _fail(message: str, cause: Exception) -> NoReturn:
    _err().print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    raise typer.Exit(1) from cause


def _out() -> Console:
    return Console(soft_wrap=True)


def _err() -> Console:
    return Console(stderr=True)
