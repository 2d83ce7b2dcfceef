"""Workers with open transactions that are told to stop, and told again; a record that ends them."""

import signal
from typing import Any

from .conftest import Serve
from .outside import Hold, Outside
from .served import COMMITS_S, Served
from .traffic import Traffic

PARTITIONS = 2
STARTS = 3
TOPICS = {"partitions": PARTITIONS, "sink_partitions": PARTITIONS}
SOON: dict[str, Any] = {
    "kafka": {"session.timeout.ms": 2000},
    "restart": {"first_s": 0.05, "max_s": 0.1},
    "poison_starts": STARTS,
    "batch": {"max_size": 32},
    "drain_s": 8,
    "delivery": "exactly-once",
}


def test_b10_stopped_in_a_rebalance_in_mid_batch_and_twice_leaves_nothing_open(
    serve: Serve, outside: Outside, hold: Hold
) -> None:
    served = serve(**TOPICS, **SOON)
    traffic = Traffic(outside, served, PARTITIONS)
    traffic.send(*range(40), partition=0)
    traffic.send(5, partition=1, hold=hold.file)
    traffic.send(*range(40), partition=1)
    served.eventually(hold.reached)
    other = serve(settings=served.settings, ready=False)
    served.eventually(lambda: "rebalancing" in served.states())
    other.tell(signal.SIGTERM)
    served.tell(signal.SIGTERM)
    served.eventually(lambda: served.health("ready")[0] == 503, within_s=1)
    hold.release()
    assert (served.ended(within_s=9), other.ended(within_s=9)) == (0, 0)
    _left_nothing(served, outside)

    again = serve(settings=served.settings)
    traffic.check(again)
    _told_twice(again, outside, Hold(hold.folder), traffic)
    assert "Traceback" not in served.log_text() + other.log_text() + again.log_text()


def _left_nothing(served: Served, outside: Outside) -> None:
    assert outside.members(served.group) == set()
    assert outside.open_transactions(served.sink) == set()
    assert outside.open_transactions(served.dead_letter) == set()
    done = outside.committed(served.group, served.source)
    scored = {at for at, found in outside.scores(served.sink).items() if len(found) == 1}
    buried = set(outside.letters(served.dead_letter))
    assert {(at.partition, at.offset) for at in scored | buried} == {
        (number, offset) for number, end in done.items() for offset in range(end)
    }


def _told_twice(served: Served, outside: Outside, hold: Hold, traffic: Traffic) -> None:
    """A batch that never ends is given up with what is open, and the group need not wait for the session to end."""
    traffic.send(1, partition=0, hold=hold.file)
    served.eventually(hold.reached)
    served.eventually(lambda: served.age_s("batch") > COMMITS_S)
    served.tell(signal.SIGINT)
    served.eventually(lambda: any("waiting" in line for line in served.log("draining")))
    assert served.stop(signal.SIGINT, within_s=4) == 0
    _left_nothing(served, outside)
