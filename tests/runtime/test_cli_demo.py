"""The demo's parts without a broker: what it plans to send, and what it makes of the records' times."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from pelton.demo_plan import BREAKAGES, plan
from pelton.demo_records import Planned, Scored, Sent
from pelton.demo_report import measure
from pelton.demo_view import Snapshot, View
from pelton.demo_watch import Throughput, percentiles
from pelton.errors import DemoFailed
from pelton.models.package import load_package
from pelton.schemas.rejection import Rejection


def flights(count: int) -> Iterator[tuple[dict[str, Any], bool | None]]:
    for i in range(count):
        event = {
            "flight_id": f"F{i}",
            "carrier": "UA",
            "origin": "EWR",
            "dest": "IAH",
            "distance": 1400,
            "scheduled_departure": "2013-09-01T05:15:00-04:00",
        }
        yield event, (None if i % 50 == 0 else i % 3 == 0)


def test_one_record_in_a_hundred_is_broken_and_all_flights_are_used_once_in_order() -> None:
    planned = plan(flights(20_000), 9_900)
    broken = [record for record in planned if record.code]
    assert (len(planned), len(broken)) == (10_000, 100)
    assert [record.key for record in planned] == [f"F{i}" for i in range(10_000)]
    rows = [row for row, record in enumerate(planned) if record.code]
    assert max(b - a for a, b in pairwise(rows)) < 1000  # spread, not in one heap


def test_intact_events_are_the_flights_with_their_labels() -> None:
    for record, (event, label) in zip(plan(flights(500), 300), flights(500), strict=False):
        if record.code is None:
            assert (json.loads(record.value), record.label) == (event, label)
        else:
            assert record.label is None


def test_every_kind_of_breakage_occurs_even_in_a_small_run() -> None:
    codes = Counter(record.code for record in plan(flights(200), 100) if record.code)
    assert codes == {"malformed": 4, "invalid": 2, "not_finite": 1}


def test_the_plan_is_the_same_each_time() -> None:
    assert plan(flights(500), 300) == plan(flights(500), 300)
    assert plan(flights(500), 300, seed=1) != plan(flights(500), 300)


def test_too_few_flights_are_refused() -> None:
    with pytest.raises(DemoFailed, match=r"only 93 flights"):
        plan(flights(100), 95)


@pytest.mark.parametrize("kind", BREAKAGES)
def test_each_breakage_is_refused_by_the_models_own_codec_with_its_code(kind: str) -> None:
    code, destroy = BREAKAGES[kind]
    event, _ = next(flights(1))
    codec = load_package("flight-delay").codec()
    whole, broken = codec.decode([json.dumps(event).encode(), destroy(dict(event))])
    assert not isinstance(whole, Rejection)
    assert isinstance(broken, Rejection)
    assert broken.code is code


def run_of(times_ms: list[tuple[int, int]]) -> tuple[list[Sent], list[Scored]]:
    """Return records sent and scored at these times."""
    places = [("t", 0, row) for row in range(len(times_ms))]
    sent = [Sent(Planned(str(p[2]), b""), p, at) for p, (at, _) in zip(places, times_ms, strict=True)]
    return sent, [Scored(b"", str(p[2]), p, 0.5, at) for p, (_, at) in zip(places, times_ms, strict=True)]


def test_throughput_is_of_the_burst_and_latency_of_the_steady_rest() -> None:
    burst = [(1000, 1500), (1000, 2000), (1001, 3000)]
    steady = [(5000, 5004), (5100, 5106), (5200, 5208)]
    figures = measure(*run_of(burst + steady), 3)
    assert figures.burst_per_s == pytest.approx(3 / 2.0)
    assert figures.latency_ms == pytest.approx((6.0, 7.96))
    assert figures.steady


def test_without_a_steady_rest_both_are_of_all() -> None:
    figures = measure(*run_of([(1000, 1010), (2000, 2030)]), 2)
    assert figures.burst_per_s == pytest.approx(2 / 1.03)
    assert figures.latency_ms == pytest.approx((20.0, 29.8))
    assert not figures.steady


def test_nothing_scored_is_no_division_by_zero() -> None:
    sent, _ = run_of([(1000, 1010)])
    figures = measure(sent, [], 1)
    assert (figures.burst_per_s, figures.latency_ms) == (0.0, None)


def test_percentiles_of_too_few_are_unknown() -> None:
    assert percentiles([5]) is None
    assert percentiles(list(range(101))) == (50.0, 99.0)


def test_throughput_looks_two_seconds_back() -> None:
    rate = Throughput()
    assert rate.add(0.0, 0) == 0.0
    assert rate.add(1.0, 100) == 100.0
    assert rate.add(2.0, 400) == 200.0
    assert rate.add(4.0, 400) == 0.0


def test_lines_come_once_a_second_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("pelton.demo_view.time.monotonic", lambda: now_s[0])
    console = Console(width=200, record=True, force_terminal=False)
    last = [Scored(b"F1", "F1", ("t", 0, 0), 0.25, 1)]
    shown = Snapshot(5000, 1234, 1000, 12, 345.6, None, (5.4, 20.0), last)
    with View(console, plain=True) as view:
        for now_s[0] in (100.0, 100.4, 100.9, 101.1, 101.5):
            view.show(shown)
    lines = console.export_text().splitlines()
    said = "sent 1,234 of 5,000 · scores 1,000 · dead letters 12 · 346/s · lag - · p50 5 ms, p99 20 ms"
    assert [line.partition("s  ")[2] for line in lines] == [said, said]


def test_the_panel_shows_the_same_on_a_terminal() -> None:
    console = Console(width=100, record=True, force_terminal=True, legacy_windows=False)
    last = [Scored(b"[F1]", "[F1]", ("t", 0, 0), 0.25, 1)]
    with View(console, plain=False) as view:
        view.show(Snapshot(5000, 1234, 1000, 12, 345.6, 17, None, last))
    text = console.export_text()
    assert all(word in text for word in ("1,234 of 5,000", "346/s", "17 records", "[F1]", "25.0%"))
