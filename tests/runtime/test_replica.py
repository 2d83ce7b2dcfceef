"""A worker's seat: no two living processes share one, and one that comes back has its old one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pelton import replica as replica_file
from pelton.errors import SettingsError
from pelton.replica import Seat

HOLD = """import sys
from pathlib import Path
from pelton.replica import Seat
seat = Seat("g", "r", Path(sys.argv[1]))
print(seat.transactional_id, flush=True)
sys.stdin.read()
"""


Sit = Callable[..., Seat]


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Sit]:
    """`sit(group, replica)` takes a seat, as long as the test lasts."""
    with ExitStack() as stack:

        def take(group: str, replica: str | None) -> Seat:
            seat = Seat(group, replica, tmp_path)
            stack.callback(seat.give_up)
            return seat

        yield take


def test_b60_an_id_is_made_of_group_replica_and_seat(sit: Sit) -> None:
    seats = [sit("g", "r") for _ in range(3)]
    assert [seat.transactional_id for seat in seats] == ["pelton-g-r-0", "pelton-g-r-1", "pelton-g-r-2"]


def test_b60_without_a_replica_it_is_the_hosts_name(sit: Sit) -> None:
    assert sit("g", None).transactional_id == f"pelton-g-{os.uname().nodename}-0"


def test_b60_groups_and_replicas_have_seats_of_their_own(sit: Sit) -> None:
    names = [("g", "r"), ("g", "s"), ("h", "r"), ("g-r", "0"), ("g/../x", "a b")]
    seats = [sit(group, replica) for group, replica in names]
    assert [seat.transactional_id for seat in seats] == [f"pelton-{group}-{replica}-0" for group, replica in names]


def test_b60_a_seat_that_was_given_up_is_the_next_ones(sit: Sit) -> None:
    first, second = sit("g", "r"), sit("g", "r")
    first.give_up()
    again = sit("g", "r")
    assert (again.transactional_id, second.transactional_id) == ("pelton-g-r-0", "pelton-g-r-1")


def test_b60_two_processes_never_share_a_seat_and_a_dead_ones_is_taken_again(sit: Sit, tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "pelton-g-r-0"
        ours = sit("g", "r")
        assert ours.transactional_id == "pelton-g-r-1"
        other.kill()
        other.wait(20)
        assert sit("g", "r").transactional_id == "pelton-g-r-0"


def test_b60_a_host_that_is_full_says_so(sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_file, "MOST", 2)
    seats = [sit("g", "r") for _ in range(2)]
    with pytest.raises(SettingsError, match="2 processes of group g"):
        sit("g", "r")
    assert len(seats) == 2


def test_b60_a_seat_of_another_user_is_taken(sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path.open

    def open_ours(path: Path, mode: str) -> object:
        if path.name.endswith("-0.lock"):
            raise PermissionError(13, "Permission denied")
        return own(path, mode)

    monkeypatch.setattr(Path, "open", open_ours)
    assert sit("g", "r").transactional_id == "pelton-g-r-1"
