"""What `/metrics` shows of a served model: whose series come and go, and what is measured on a real broker."""

from typing import Any

from .conftest import Serve
from .outside import Outside, Record, event
from .served import Served, eventually

ALL = {"0", "1", "2", "3"}


def held(served: Served) -> set[str]:
    return set(served.labels("pelton_lag_records", "partition"))


def test_series_go_with_partitions_that_leave_and_with_a_worker_that_dies(
    serve: Serve, quick_session: dict[str, int]
) -> None:
    patient: dict[str, Any] = {"kafka": quick_session, "restart": {"first_s": 60, "max_s": 60}}
    first = serve(partitions=4, **patient)
    first.eventually(lambda: held(first) == ALL)
    second = serve(settings=first.settings)
    second.eventually(lambda: held(second) and held(first) and held(first) | held(second) == ALL)
    first.eventually(lambda: held(first).isdisjoint(held(second)))
    first.kill_worker()
    first.eventually(lambda: first.worker()["state"] == "restarting")
    text = first.get("/metrics")[1].decode()
    left = {line.partition("{")[0] for line in text.splitlines() if 'worker="0"' in line}
    assert left == {"pelton_restarts_total", "pelton_worker_state"}
    eventually(lambda: held(second) == ALL)


def test_what_is_declared_is_measured(serve: Serve, outside: Outside) -> None:
    served = serve()
    places = outside.send(served.source, *(Record(event(x)) for x in range(50)), Record(b"{"))
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert len(places) == 51
    served.eventually(lambda: served.metric("pelton_scored_total") == 50)
    batches = served.metric("pelton_batches_total")
    assert batches >= 1
    for name in ("batch_size", "batch_fill_ratio", "batch_wait_seconds", "produce_seconds"):
        assert served.metric(f"pelton_{name}_count") == batches, name
    for stage in ("prepare", "device", "finish"):
        assert 1 <= served.metric(f"pelton_{stage}_seconds_count") <= batches
    assert served.metric("pelton_batch_size_sum") == 51
    assert served.metric("pelton_decode_failures_total") == served.metric("pelton_dead_letters_total") == 1
    served.eventually(lambda: served.metric("pelton_commit_seconds_count") >= 2)
    assert served.metric("pelton_process_resident_bytes") > 100 * 2**20
    assert served.metric("pelton_healthy") == 3
