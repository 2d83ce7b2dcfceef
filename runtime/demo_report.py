"""The demo's last page: what came out, how fast, and whether each check held."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pelton.demo_records import Scored, Sent
from pelton.demo_summary import CHECKS, Evidence, Finding, areas
from pelton.demo_watch import percentiles


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured: by record timestamps, from producing an event to producing its score."""

    burst_per_s: float
    latency_ms: tuple[float, float] | None
    steady: bool


def measure(sent: Sequence[Sent], scored: Sequence[Scored], burst: int) -> Figures:
    """Return throughput over the first `burst` records and latency over the others, or over all without others."""
    times_ms = {record.position: record.timestamp_ms for record in sent}
    rest = sent[burst:] or sent
    first_of_rest_ms = min(record.timestamp_ms for record in rest)
    steady = len(sent) > burst
    early = [s.timestamp_ms for s in scored if not steady or _sent_ms(s, times_ms) < first_of_rest_ms]
    span_s = (max(early) - min(record.timestamp_ms for record in sent)) / 1000 if early else 0.0
    late = [s for s in scored if _sent_ms(s, times_ms) >= first_of_rest_ms]
    latencies = [s.timestamp_ms - _sent_ms(s, times_ms) for s in late]
    return Figures(len(early) / span_s if span_s else 0.0, percentiles(latencies), steady)


def _sent_ms(scored: Scored, times_ms: dict[tuple[str, int, int], int]) -> int:
    return times_ms.get(scored.position, -1) if scored.position else -1


def print_report(console: Console, evidence: Evidence, figures: Figures, findings: Sequence[Finding]) -> None:
    """Print counts, figures and every check with what it found."""
    console.print(_counts(evidence, figures))
    for title in CHECKS:
        found = [finding for finding in findings if finding.check == title]
        console.print(f"  {'[bold red]✗[/]' if found else '[bold green]✓[/]'} {escape(title)}", highlight=False)
        for finding in found:
            console.print(f"      [red]{escape(str(finding))}[/]", highlight=False, soft_wrap=True)


def _counts(evidence: Evidence, figures: Figures) -> Table:
    online, offline = areas(evidence)
    labelled = sum(sent.planned.label is not None for sent in evidence.sent)
    codes = Counter(dead.code for dead in evidence.dead)
    table = Table.grid(padding=(0, 3))
    table.add_row("events sent", f"{len(evidence.sent):,}")
    table.add_row("scores", f"{len(evidence.scored):,}")
    table.add_row(
        "dead letters",
        f"{len(evidence.dead):,} ({', '.join(f'{escape(code)} {count}' for code, count in codes.most_common())})",
    )
    table.add_row("throughput", f"{figures.burst_per_s:,.0f} scores/s{' on the backlog' if figures.steady else ''}")
    if figures.latency_ms:
        when = " at 1,000 events/s" if figures.steady else ""
        table.add_row("latency", f"p50 {figures.latency_ms[0]:.0f} ms, p99 {figures.latency_ms[1]:.0f} ms{when}")
    table.add_row("AUC of the sink", f"{online:.6f} on {labelled:,} flights whose end is known")
    table.add_row("AUC offline", f"{offline:.6f}")
    return table
