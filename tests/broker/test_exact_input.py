"""Exactly once from an input that changes: partitions are added, transactions of others end in an abort."""

from typing import Any

import pytest
from confluent_kafka import Producer

from .conftest import Serve
from .outside import ANSWER_S, QUIET, Outside, Position, event
from .traffic import Traffic

OLD, ALL, N = 2, 6, 100


@pytest.mark.parametrize("quick_form", ["cooperative", "consumer"], indirect=True)
def test_b50_partitions_added_to_a_running_group_are_read_from_their_beginning(
    serve: Serve, outside: Outside, quick_form: dict[str, Any]
) -> None:
    form = quick_form | {"stream": quick_form["stream"] | {"reset": "latest"}}
    served = serve(partitions=OLD, sink_partitions=OLD, delivery="exactly-once", **form)
    pid, traffic = served.pid(), Traffic(outside, served, OLD)
    traffic.send(*range(OLD))
    outside.add_partitions(served.source, ALL)
    for number in range(OLD, ALL):
        traffic.send(*range(N // (ALL - OLD)), partition=number)
    served.eventually(lambda: served.owned() == set(range(ALL)))
    traffic.check()
    served.eventually(lambda: (len(served.worker()["partitions"]), served.lag()) == (ALL, 0))
    assert sorted(served.labels("pelton_lag_records", "partition")) == [str(number) for number in range(ALL)]
    assert (served.pid(), served.health("ready")) == (pid, (200, []))


def test_b15_b16_input_that_ends_in_an_aborted_transaction_leaves_no_lag(serve: Serve, outside: Outside) -> None:
    served = serve(delivery="exactly-once")
    producer = Producer({"bootstrap.servers": outside.brokers, "transactional.id": served.source, **QUIET})
    producer.init_transactions(ANSWER_S)
    for first, end in ((0, producer.commit_transaction), (N, producer.abort_transaction)):
        producer.begin_transaction()
        for x in range(first, first + N):
            producer.produce(served.source, event(x), partition=0)
        assert producer.flush(ANSWER_S) == 0
        end(ANSWER_S)
    served.eventually(lambda: served.metric("pelton_scored_total") == N)
    served.eventually(lambda: served.lag() == 0)
    assert outside.scores(served.sink) == {Position(served.source, 0, x): [2.0 * x] for x in range(N)}
    assert outside.committed(served.group, served.source) == {0: N}
    assert served.health("ready") == (200, [])
