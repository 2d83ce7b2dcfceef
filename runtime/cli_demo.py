"""`pelton demo`: the whole road, on this machine, with real flights and a checked result."""

import signal
from typing import Annotated

import typer

from pelton.cli_produce import INTERRUPTED


def demo(
    events: Annotated[int, typer.Option(min=100, help="Intact flights; 1 % broken ones come on top.")] = 50_000,
    rate: Annotated[
        float, typer.Option(min=0, help="Events a second; 0 for all at once, and the last ones at 1,000.")
    ] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Leave Kafka, its topics and the logs afterwards.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a live panel.")] = False,
) -> None:
    """Score real flights on a real local Kafka, live, and check every result.

    Starts Kafka and `pelton serve`, replays flights of autumn 2013, which the model has not seen, with 1 %
    broken records among them, and ends with 0 only when every event has exactly one right score or one
    right dead letter. Ctrl-C cleans everything up.
    """
    from pelton.demo import Options, run  # noqa: PLC0415
    from pelton.logs import configure_logs  # noqa: PLC0415

    configure_logs("warning")
    # Otherwise these would end this process before it has ended those it started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        run(Options(events, rate, keep, plain))
    except KeyboardInterrupt:
        typer.echo("interrupted; everything is stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None
