"""`pelton doctor`: check settings against a live cluster before the first run."""

import sys
from dataclasses import asdict
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pelton.cli_serve import Brokers, Config, chosen, given


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 for warnings too.")] = False,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Check settings against a live cluster: topics, rights, sizes, times; each finding says what to change.

    Nothing is changed and no group is joined. Ends with 1 when something cannot work, with 0 otherwise.
    """
    from pelton.doctor import RULES, check  # noqa: PLC0415
    from pelton.doctor_facts import gather  # noqa: PLC0415
    from pelton.doctor_findings import Level  # noqa: PLC0415
    from pelton.schemas.settings import load_settings  # noqa: PLC0415

    settings = load_settings(chosen(config), given({"kafka": {"bootstrap.servers": brokers}}))
    found = check(settings, gather(settings))
    if as_json:
        sys.stdout.write(msgspec.json.encode({"findings": [asdict(each) for each in found]}).decode() + "\n")
    elif found:
        table = Table("", "where", "what", "change")
        for each in found:
            style = "red" if each.level is Level.ERROR else "yellow"
            table.add_row(f"[{style}]{each.level}[/]", escape(each.where), escape(each.what), escape(each.change))
        Console().print(table)
    else:
        Console().print(f"{len(RULES)} checks, nothing found")
    if found and (strict or found[0].level is Level.ERROR):
        raise typer.Exit(1)
