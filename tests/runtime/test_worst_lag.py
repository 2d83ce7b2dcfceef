"""When the lag of partitions makes a worker not ready, and when ready again."""

import pytest

from pelton.hysteresis import Hysteresis
from pelton.partition_status import LagStatus, PartitionStatus
from pelton.schemas.settings_groups import Health
from pelton.states import LagState
from pelton.worst_lag import WorstLag

HEALTH = Health(unready_after_s=10, ready_after_s=30)


def held(*verdicts: str) -> list[PartitionStatus]:
    return [
        PartitionStatus("in", number, verdict=LagState(verdict), reason=f"why {verdict}")
        for number, verdict in enumerate(verdicts)
    ]


def changes(seen: list[tuple[float, bool]]) -> list[float]:
    """Return when it turned on or off, given what is the case from each moment on, looked at each second."""
    one, turned = Hysteresis(10, 30), list[float]()
    last_s = seen[-1][0]
    for second in range(int(last_s) + 60):
        case = [what for at_s, what in seen if at_s <= second][-1]
        before = one.on
        if one.see(case, float(second)) is not before:
            turned.append(second)
    return turned


@pytest.mark.parametrize(
    ("seen", "turned"),
    [
        ([(0, False)], []),
        ([(0, False), (5, True), (14, False)], []),  # nine seconds are not ten
        ([(0, False), (5, True)], [15]),
        ([(0, False), (5, True), (20, False)], [15, 50]),
        ([(0, False), (5, True), (20, False), (49, True), (50, False)], [15, 80]),  # each break begins anew
        ([(0, False), *((n, n % 2 == 1) for n in range(5, 61))], []),
    ],
)
def test_it_turns_only_after_a_while_without_a_break(seen: list[tuple[float, bool]], turned: list[float]) -> None:
    assert changes(seen) == turned


@pytest.mark.parametrize("verdict", ["stall", "stop"])
def test_b05_a_stall_or_a_stop_that_lasts_makes_it_unready_and_says_why(verdict: str) -> None:
    worst = WorstLag(HEALTH)
    told = worst.see(held("ok", verdict, "warn"), 1000.0)
    assert told == LagStatus(LagState(verdict), f"in/1: why {verdict}", "")
    assert worst.see(held("ok", verdict), 1009.0).unready == ""
    assert worst.see(held("ok", verdict), 1010.0).unready == f"{verdict}: in/1: why {verdict}"
    # Ready again after a while without one; until then the last reason stands.
    assert worst.see(held("ok", "ok"), 1011.0) == LagStatus(
        LagState.OK, "in/0: why ok", f"{verdict}: in/1: why {verdict}"
    )
    assert worst.see(held("ok", "ok"), 1040.0).unready != ""
    assert worst.see(held("ok", "ok"), 1041.0).unready == ""


@pytest.mark.parametrize("verdict", ["ok", "unknown", "warn", "rewind"])
def test_b17_nothing_else_ever_does(verdict: str) -> None:
    worst = WorstLag(HEALTH)
    assert {worst.see(held(verdict), float(second)).unready for second in range(1000)} == {""}
    assert worst.see(held(verdict), 1000.0).verdict == LagState(verdict)


def test_b17_an_idle_member_is_ready_at_once() -> None:
    worst = WorstLag(HEALTH)
    assert worst.see([], 0.0) == LagStatus()
    for second in range(20):
        told = worst.see(held("stall"), float(second))
    assert told.unready
    assert worst.see([], 20.0) == LagStatus()
    assert worst.see(held("stall"), 21.0).unready == ""
    # What began before the partitions left counts no more.
    assert worst.see([], 25.0) == LagStatus()
    assert [worst.see(held("stall"), second).unready != "" for second in (26.0, 35.0, 36.0)] == [False, False, True]
