"""`pelton doctor`: check settings against a live cluster before the first run."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pelton.cli_serve import Brokers, Config, whole_settings
from pelton.errors import PackageError

if TYPE_CHECKING:
    from pelton.doctor_findings import Finding
    from pelton.schemas.settings import Settings


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 for warnings too.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Load the model, and time its largest batch here.")] = False,
    brokers: Brokers = None,
    config: Config = None,
) -> None:
    """Check settings against a live cluster and the model's package; each finding says what to change.

    Nothing is changed and no group is joined. Ends with 1 when something cannot work, with 0 otherwise.
    """
    from pelton.doctor import RULES, check  # noqa: PLC0415
    from pelton.doctor_facts import gather  # noqa: PLC0415
    from pelton.doctor_findings import Level  # noqa: PLC0415

    settings = whole_settings(config, {"kafka": {"bootstrap.servers": brokers}})
    found = check(settings, gather(settings), _of_the_model(settings, batch))
    if as_json:
        sys.stdout.write(msgspec.json.encode({"findings": [asdict(each) for each in found]}).decode() + "\n")
    elif found:
        table = Table("", "where", *(Column(name, overflow="fold") for name in ("what", "change")))
        for each in found:
            style = "red" if each.level is Level.ERROR else "yellow"
            table.add_row(f"[{style}]{each.level}[/]", escape(each.where), escape(each.what), escape(each.change))
        Console().print(table)
    else:
        Console().print(f"{len(RULES) + 1 + batch} checks, nothing found")
    if found and (strict or found[0].level is Level.ERROR):
        raise typer.Exit(1)


def _of_the_model(settings: "Settings", batch: bool) -> "list[Finding]":
    from pelton.doctor_findings import error  # noqa: PLC0415
    from pelton.models.package import load_package  # noqa: PLC0415

    try:
        load_package(settings.model)
        return _time_batch(settings) if batch else []
    except PackageError as refused:
        return [error("model", str(refused), "the package, or which one `model` names")]


def _time_batch(settings: "Settings") -> "list[Finding]":
    from pelton.doctor_batch import time_largest_batch, too_long  # noqa: PLC0415 - torch comes along

    took_s = time_largest_batch(settings)
    return [] if took_s is None else list(too_long(settings, took_s))
