"""A record that ends the process again and again, with the marks of its deaths in the transactions' offsets."""

import pytest

from .conftest import Serve
from .outside import Outside, Record, event
from .test_poison import SOON_BACK, SOON_MISSED, deaths, good, notes

PARTITIONS = 4
STARTS = 2
LOST = "CUDA error: device-side assert triggered"


@pytest.mark.timeout(120, func_only=True)
def test_b03_b42_what_ends_the_process_is_set_aside_and_all_others_are_scored_once(
    serve: Serve, outside: Outside
) -> None:
    """One kills it, the other one its device; whatever was in the model with them is neither committed nor buried."""
    served = serve(
        partitions=PARTITIONS,
        sink_partitions=PARTITIONS,
        delivery="exactly-once",
        kafka=SOON_MISSED,
        restart=SOON_BACK,
        poison_starts=STARTS,
    )
    killer, breaker = Record(event(7, die="exit"), b"killer", partition=2), Record(event(8, raises=LOST), partition=1)
    records = good(90)
    sent = outside.send(served.source, *records[:30], killer, *records[30:60], breaker, *records[60:])
    culprits = [sent.pop(30), sent.pop(60)]
    served.eventually(lambda: outside.finished(served.group, served.source), within_s=80)

    assert outside.scores(served.sink) == {at: [2.0 * i] for i, at in enumerate(sent)}
    assert outside.letters(served.dead_letter) == sorted(culprits)
    letters = [dict(letter.headers()) for letter in outside.read(served.dead_letter)]
    assert {letter["__connect.errors.exception.class.name"] for letter in letters} == {b"ProcessDied"}
    assert {letter["pelton-attempts"] for letter in letters} == {str(STARTS).encode()}
    # The first death counts for the records of all partitions, which had been taken up as well.
    assert STARTS + 1 <= deaths(served) <= 2 * STARTS
    assert any(LOST in line.get("reason", "") for line in served.log("worker_state"))
    assert notes(outside, served) == [""] * PARTITIONS
