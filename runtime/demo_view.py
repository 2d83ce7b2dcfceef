"""What the demo shows while it runs: a live panel on a terminal, a line a second elsewhere."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Column, Table

from pelton.demo_records import Scored

PLAIN_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one moment; `lag` in records and the latencies in ms are None where unknown."""

    total: int
    sent: int
    scored: int
    dead_letters: int
    per_s: float
    lag: int | None
    latency_ms: tuple[float, float] | None
    last: Sequence[Scored]

    @property
    def latency(self) -> str:
        """Return the 50th and 99th percentile in words."""
        return "-" if self.latency_ms is None else f"p50 {self.latency_ms[0]:.0f} ms, p99 {self.latency_ms[1]:.0f} ms"


class View:
    """Shows snapshots as they come."""

    def __init__(self, console: Console, *, plain: bool) -> None:
        self.console = console
        self._live = None if plain else Live(console=console, refresh_per_second=8, transient=True)
        self._printed_s = 0.0
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def step(self, what: str) -> None:
        """Print a line that stays, with the seconds since the start."""
        self.console.print(
            f"[dim]{time.monotonic() - self._began_s:5.1f} s[/]  {what}", highlight=False, soft_wrap=True
        )

    def show(self, snapshot: Snapshot) -> None:
        """Show the figures; without a terminal once a second at most."""
        if self._live:
            self._live.update(_panel(snapshot))
        elif time.monotonic() - self._printed_s >= PLAIN_EVERY_S:
            self._printed_s = time.monotonic()
            self.step(_line(snapshot))


def _line(shown: Snapshot) -> str:
    lag = "-" if shown.lag is None else f"{shown.lag:,}"
    return (
        f"sent {shown.sent:,} of {shown.total:,} · scores {shown.scored:,} · dead letters {shown.dead_letters:,}"
        f" · {shown.per_s:,.0f}/s · lag {lag} · {shown.latency}"
    )


def _panel(shown: Snapshot) -> Group:
    figures = Table.grid(padding=(0, 3))
    figures.add_row("sent", f"{shown.sent:,} of {shown.total:,}", "throughput", f"[bold]{shown.per_s:,.0f}[/]/s")
    figures.add_row("scores", f"{shown.scored:,}", "lag", "-" if shown.lag is None else f"{shown.lag:,} records")
    figures.add_row("dead letters", f"{shown.dead_letters:,}", "latency", shown.latency)
    done = Table.grid()
    done.add_row(ProgressBar(total=shown.total, completed=shown.scored + shown.dead_letters, width=60))
    last = Table(Column("last scores", width=40), Column("late?", justify="right"), box=None, pad_edge=False)
    for scored in shown.last:
        last.add_row(escape(scored.event_id or "?"), f"{scored.score:.1%}")
    return Group("", done, figures, "", last)
