"""`/scale` of a served model on a real Kafka: what it says of the group, and where it comes from."""

import json
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .conftest import Serve, settings_for
from .outside import Hold, Outside, Record, event
from .served import Served

N = 4


def scale(served: Served) -> dict[str, Any]:
    """Return what `/scale` answers, empty while it is unknown."""
    status, body = served.get("/scale")
    return dict(json.loads(body)) if status == 200 else {}


def asks(process: psutil.Process) -> bool:
    """Tell whether a process is the one that asks the broker."""
    try:
        return "pelton.scale_asker" in process.cmdline()
    except psutil.Error:
        return False


def test_it_counts_every_partition_of_the_group_and_measures_what_a_worker_does(
    serve: Serve, outside: Outside, hold: Hold
) -> None:
    served = serve(partitions=N, sink_partitions=N, scale={"every_s": 0.5})
    first = served.eventually(lambda: (now := scale(served)).get("replicas") and now)
    assert {name: first[name] for name in ("wanted_replicas", "lag_records", "partitions", "replicas")} == {
        "wanted_replicas": 1,
        "lag_records": 0,
        "partitions": N,
        "replicas": 1,
    }
    assert (first["drain_s"], first["capacity_per_s"]) == (0.0, None)
    assert 0 < first["start_s"] < 60

    outside.send(served.source, *(Record(event(x, sleep_s=0.1), partition=x % N) for x in range(80)))
    assert served.eventually(lambda: scale(served).get("arrival_per_s"))
    # A tenth of a second each, and no more than one at a time; on a busy machine it takes longer.
    served.eventually(lambda: 2 < (scale(served).get("capacity_per_s") or 0) <= 10)

    served.eventually(lambda: served.lag() == 0)
    outside.send(served.source, *(Record(event(x, hold=hold.file), partition=0) for x in range(7)))
    outside.send(served.source, *(Record(event(x), partition=1) for x in range(5)))
    behind = served.eventually(lambda: (now := scale(served)).get("lag_records") == 12 and now)
    assert behind["age_s"] < 5
    assert served.labels("pelton_replicas", "which") == ["wanted", "present"]
    assert served.metric("pelton_replicas") == behind["wanted_replicas"] + behind["replicas"]
    hold.release()
    served.eventually(lambda: scale(served).get("lag_records") == 0)


def test_an_asker_that_dies_takes_nobody_along(serve: Serve) -> None:
    served = serve(partitions=N, sink_partitions=N, scale={"every_s": 0.5})
    served.eventually(lambda: scale(served))

    def asker() -> psutil.Process | None:
        children = psutil.Process(served.process.pid).children()
        return next((each for each in children if asks(each)), None)

    one = served.eventually(asker)
    assert one is not None
    one.kill()
    served.eventually(lambda: (another := asker()) is not None and another.pid != one.pid)
    served.eventually(lambda: scale(served)["age_s"] < 1)
    assert served.health("ready") == (200, [])
    assert served.stop() == 0
    assert not one.is_running()


@pytest.mark.timeout(120, func_only=True)
def test_while_the_broker_is_away_the_last_answer_grows_old(own_kafka: Callable[..., LocalKafka], serve: Serve) -> None:
    kafka = own_kafka()
    address = kafka.bootstrap
    create(address, {"in": N, "out": 1, "dead": 1})
    stream = {"topics": ["in"], "group": "g", "sink": "out", "dead_letter": "dead"}
    served = serve(settings=settings_for(address, "obedient", stream, scale={"every_s": 0.5}))
    with Outside(address) as outside:
        outside.send("in", *(Record(event(x), partition=x % N) for x in range(20)))
    known = served.eventually(lambda: served.lag() == 0 and scale(served).get("lag_records") == 0 and scale(served))
    kafka.kill()
    old = served.eventually(lambda: (now := scale(served))["age_s"] > 3 and now)
    assert {**old, "age_s": 0} == {**known, "age_s": 0} | {name: old[name] for name in ("reason", "arrival_per_s")}
    kafka.up()
    served.eventually(lambda: scale(served)["age_s"] < 2)
    served.eventually(lambda: served.health("ready") == (200, []))
