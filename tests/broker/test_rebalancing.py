"""What is seen from outside while partitions move."""

import json

from confluent_kafka import Consumer

from .conftest import Serve
from .outside import Hold, Outside, Record, event


def test_b17_a_rebalance_shows_in_status_and_probe_and_leaves_the_worker_ready(
    serve: Serve, outside: Outside, hold: Hold
) -> None:
    """Another member joins while a batch is in the model: the revoke waits for it, for a while."""
    served = serve(partitions=2)
    (at,) = outside.send(served.source, Record(event(1, hold=hold.file), partition=0))
    served.eventually(hold.reached)
    other = Consumer(
        {
            "bootstrap.servers": outside.brokers,
            "group.id": served.group,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    other.subscribe([served.source])
    try:
        served.eventually(lambda: (other.poll(0.02), served.worker()["state"] == "rebalancing")[1])
        status, body = served.get("/health/ready")
        assert (status, json.loads(body)["notes"]) == (200, ["worker 0 is rebalancing"])
        assert served.health("live") == (200, [])
        hold.release()
        served.eventually(lambda: (other.poll(0.02), len(served.worker()["partitions"]) == 1)[1])
    finally:
        other.close()
    served.eventually(lambda: outside.finished(served.group, served.source))
    served.eventually(lambda: served.worker()["state"] == "ready")
    assert outside.scores(served.sink) == {at: [2.0]}
