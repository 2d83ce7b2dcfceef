"""Exactly once, however long the model takes, the worker stands still or the broker cannot be reached."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from pelton import kafka_config
from pelton.local_kafka import LocalKafka
from pelton.topics import create

from .conftest import Serve, settings_for
from .outside import Outside, Record
from .served import Served
from .traffic import Traffic, freeze_in_transaction
from .wire import Wire

EXIT_SETTINGS = 2
TIMEOUT_MS = 2_000
SLOW_S = 3.5
"""Longer than a transaction may be open, and than the broker takes to notice."""
GIVEN_UP = ("transaction_aborted", "producer_replaced")
"""What the client hears first decides: with messages given up its epoch is raised, if it is fenced it is replaced."""
TROUBLE = (*GIVEN_UP, "uncommitted_dropped")


@pytest.fixture(scope="module")
def one(serve_here: Serve) -> Iterator[Served]:
    """One worker, whose transactions may not be open for long."""
    served = serve_here(delivery="exactly-once", kafka={"transaction.timeout.ms": TIMEOUT_MS})
    yield served
    assert served.stop() == 0


@pytest.fixture(scope="module")
def traffic(outside: Outside, one: Served) -> Traffic:
    """All that the worker is sent."""
    return Traffic(outside, one, 1)


def test_b21_model_slower_than_the_transaction_time_out_costs_no_transaction(one: Served, traffic: Traffic) -> None:
    told = one.log(*TROUBLE)
    traffic.send(1, sleep_s=SLOW_S)
    traffic.check()
    assert one.log(*TROUBLE) == told


def test_b21_batch_without_output_commits_its_offsets(one: Served, traffic: Traffic, outside: Outside) -> None:
    told, ends = one.log(*TROUBLE), outside.ends(one.sink)
    outside.send(one.source, *[Record(None, b"key")] * 3)
    one.eventually(lambda: outside.finished(one.group, one.source))
    assert outside.ends(one.sink) == ends
    one.eventually(lambda: one.metric("pelton_tombstones_total") == 3)
    traffic.send(2)
    traffic.check()
    assert one.log(*TROUBLE) == told


def test_b21_worker_goes_on_by_itself_after_its_transaction_timed_out(
    one: Served, traffic: Traffic, outside: Outside
) -> None:
    with traffic.flowing():
        pid = freeze_in_transaction(one, outside)
        one.eventually(lambda: not outside.open_transactions(one.sink))
        os.kill(pid, signal.SIGCONT)
        one.eventually(lambda: one.log(*GIVEN_UP))
    traffic.check()
    assert (one.pid(), one.log("worker_fenced", "worker_failed")) == (pid, [])


def test_b21_time_out_beyond_the_brokers_own_is_refused_once_and_by_name(serve: Serve) -> None:
    hour = {"transaction.timeout.ms": 3_600_000}
    served = serve(delivery="exactly-once", kafka=hour, ready=False)
    assert served.ended() == EXIT_SETTINGS
    (last,) = served.log("cannot_serve")
    assert "transaction.timeout.ms is above the broker's transaction.max.timeout.ms" in last["reason"]
    assert "Traceback" not in served.log_text()


def test_b21_connection_cut_for_longer_than_the_transaction_time_out(
    own_kafka: Callable[..., LocalKafka], serve: Serve
) -> None:
    with Wire() as wire:
        port = kafka_config.choose_ports(None, None).client
        wire.lead_to(port)
        kafka = own_kafka(port=port, config={"advertised.listeners": f"PLAINTEXT://127.0.0.1:{wire.port}"})
        with Outside(kafka.bootstrap) as outside:
            create(outside.brokers, {"events": 2, "scores": 2, "dead": 1})
            stream = {"topics": ["events"], "group": "cut", "sink": "scores", "dead_letter": "dead"}
            impatient = {"transaction.timeout.ms": TIMEOUT_MS, "client.id": "cut-off"}
            settings = settings_for(outside.brokers, "obedient", stream, delivery="exactly-once", kafka=impatient)
            _cut_and_mend(serve(settings=settings), outside, wire)


def _cut_and_mend(served: Served, outside: Outside, wire: Wire) -> None:
    traffic = Traffic(outside, served, 2)
    with traffic.flowing():
        while True:
            served.eventually(lambda: outside.open_transactions(served.sink))
            wire.cut("cut-off")
            if outside.stays_open(served.sink):
                break
            wire.mend()
        committed = outside.committed(served.group, served.source)
        served.eventually(lambda: not outside.open_transactions(served.sink))
        wire.mend()
        served.eventually(lambda: served.log(*GIVEN_UP))
        served.eventually(lambda: outside.committed(served.group, served.source) != committed)
    traffic.check()
    assert served.worker()["restarts"] == 0
