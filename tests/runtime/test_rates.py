"""Rates out of running totals."""

from pelton.rates import Rates
from pelton.reports import StatusReport


def test_no_rate_before_two_reports() -> None:
    rates = Rates()
    assert rates.per_s() == {"records": 0.0, "scored": 0.0, "dead_letters": 0.0, "answered": 0.0}
    rates.add(StatusReport(records=500), at_s=1.0)
    assert rates.per_s()["records"] == 0.0


def test_a_rate_is_over_the_last_ten_seconds() -> None:
    rates = Rates()
    for second in range(31):
        fast = max(0, second - 15)  # nothing for 15 s, then 100 a second
        rates.add(StatusReport(records=100 * fast, scored=90 * fast, dead_letters=10 * fast), at_s=float(second))
    assert rates.per_s() == {"records": 100.0, "scored": 90.0, "dead_letters": 10.0, "answered": 0.0}


def test_a_rate_falls_to_zero_when_nothing_comes() -> None:
    rates = Rates()
    for second in range(20):
        rates.add(StatusReport(records=min(second, 5) * 100), at_s=float(second))
    assert rates.per_s()["records"] == 0.0


def test_a_new_process_begins_anew() -> None:
    rates = Rates()
    rates.add(StatusReport(records=10_000), at_s=1.0)
    rates.clear()
    rates.add(StatusReport(records=0), at_s=2.0)
    rates.add(StatusReport(records=50), at_s=3.0)
    assert rates.per_s()["records"] == 50.0
