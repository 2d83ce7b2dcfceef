"""`pelton serve`: score the events of some topics, and answer requests, until told to stop."""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pelton.schemas.settings import Settings

DEFAULT_CONFIG = Path("pelton.yaml")


class Level(StrEnum):
    """Least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Config = Annotated[Path | None, typer.Option("--config", "-c", help="Settings file (pelton.yaml, where there is one).")]
Brokers = Annotated[str | None, typer.Option(help="Bootstrap addresses, host:port[,host:port].")]


def serve(
    config: Config = None,
    model: Annotated[str | None, typer.Option(help="Name in the zoo, or folder of a model package.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Input topic; may be given again.")] = None,
    sink: Annotated[str | None, typer.Option(help="Topic for the scores.")] = None,
    group: Annotated[str | None, typer.Option(help="Consumer group.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; 0 is one per GPU, or core.")] = None,
    brokers: Brokers = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of health, metrics and status; 0 for any.")] = None,
    log_level: Annotated[Level | None, typer.Option(help="Least level that is logged.")] = None,
) -> None:
    """Score events: read topics, write each score to the sink and each bad record to the dead letters.

    Where the settings have `requests:`, they are answered too, or alone if no stream is given.
    Settings come from the file, then the environment (PELTON_...), then these flags; the later wins.
    Ends with 0 after SIGTERM or Ctrl-C once what was read is scored and committed, and with 4 when another process
    takes the identity of a worker.
    """
    from pelton.logs import configure_logs  # noqa: PLC0415

    flags = {
        "model": model,
        "device": device,
        "workers": workers,
        "kafka": {"bootstrap.servers": brokers},
        "stream": {"topics": topic or None, "sink": sink, "group": group},
        "sidecar": {"port": port},
        "log": {"level": log_level.value if log_level else None},
    }
    settings = whole_settings(config, flags)
    from pelton.supervisor import Supervisor  # noqa: PLC0415

    configure_logs(settings.log.level, settings.log.format)
    raise typer.Exit(Supervisor(settings).run())


def topic_name(text: str) -> str:
    """Return the name of a topic as it was given; a usage error when Kafka allows no such name."""
    from pelton.schemas.settings_types import TOPIC_NAME  # noqa: PLC0415

    if not re.fullmatch(TOPIC_NAME, text):
        raise typer.BadParameter(f"{text!r} is not a name Kafka allows for a topic")
    return text


def chosen(config: Path | None) -> Path | None:
    """Return the settings file to read: the one given, else pelton.yaml here, else none."""
    return config or (DEFAULT_CONFIG if DEFAULT_CONFIG.is_file() else None)


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags that were given, without the empty groups."""
    nested = {name: given(value) if isinstance(value, Mapping) else value for name, value in flags.items()}
    return {name: value for name, value in nested.items() if value not in (None, {})}


def whole_settings(config: Path | None, flags: Mapping[str, Any]) -> "Settings":
    """Return the settings of the file, the environment and the flags that were given.

    Raises SettingsError for what is wrong in them; it says so where there was no file to read.
    """
    from pelton.errors import SettingsError  # noqa: PLC0415
    from pelton.schemas.settings import load_settings  # noqa: PLC0415

    if path := chosen(config):
        return load_settings(path, given(flags))
    try:
        return load_settings(None, given(flags))
    except SettingsError as error:
        also = f"no file was read: no --config was given, and here is no {DEFAULT_CONFIG}"
        raise SettingsError(f"{error}\n{also}") from None


def kafka_properties(config: Path | None, brokers: str | None) -> dict[str, Any]:
    """Return the librdkafka properties of the settings file and environment, with `brokers` on top.

    Nothing else of the settings need be there. Raises SettingsError for what is wrong in them.
    """
    return dict(client_settings(config, brokers).kafka)


def client_settings(config: Path | None, brokers: str | None) -> "Settings":
    """Return the settings of the file and environment, with `brokers` on top; model and stream need not be there.

    What is said of those two is not read. Raises SettingsError for what is wrong in the rest.
    """
    from pelton.schemas.settings import load_settings  # noqa: PLC0415

    unused = {"model": "unused", "stream.topics": ["unused-in"], "stream.group": "unused", "stream.sink": "unused"}
    return load_settings(chosen(config), {**unused, "kafka": given({"bootstrap.servers": brokers})})
