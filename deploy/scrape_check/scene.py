"""A worker that serves exactly once and answers requests on a real Kafka, with good and bad records on their way."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from confluent_kafka import Producer

from pelton import topics
from pelton.local_kafka import LocalKafka
from pelton.producers.client import RequestReplyClient
from scrape_check.ports import CheckFailed, Program, free_port, get, until

ROOT = Path(__file__).resolve().parents[2]
EVENTS, SCORES, DEAD, ASKED, ANSWERED = "payments", "scores", "dead-letters", "asked", "answered"
STEP_S = 0.1
GOOD = [{"payment_id": f"p-{n}", "amount": 12.5 * n, "payments_today": n % 10} for n in range(1, 21)]
BAD = [b"{", b'{"payment_id": "p-0"}', b"\xff"]


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve with everything going on that metrics tell of; gives the port of the sidecar."""
    with LocalKafka(folder / "kafka") as kafka:
        topics.create(kafka.bootstrap, {EVENTS: 2, SCORES: 2, DEAD: 1, ASKED: 2, ANSWERED: 1})
        port = free_port()
        config = folder / "pelton.yaml"
        config.write_text(yaml.safe_dump(_settings(kafka.bootstrap, port)))
        command = [sys.executable, "-m", "pelton.cli", "serve", "--config", str(config)]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PELTON_")}
        with Program(command, folder / "serve.log", env=environ) as served:
            try:
                until("the worker is ready", lambda: bool(get(f"http://127.0.0.1:{port}/health/ready")), 90)
                with _traffic(kafka.bootstrap):
                    yield port
            except CheckFailed as error:
                raise CheckFailed(f"{error}\n{served.last_words}") from error


def _settings(brokers: str, port: int) -> dict[str, object]:
    return {
        "model": str(ROOT / "examples" / "payment-risk"),
        "device": "cpu",
        "delivery": "exactly-once",
        "replica": "checked",
        "kafka": {"bootstrap.servers": brokers},
        "stream": {"topics": [EVENTS], "group": "checked", "sink": SCORES, "dead_letter": DEAD},
        "requests": {"topics": [ASKED], "group": "checked-requests", "reply_topics": [ANSWERED]},
        "scale": {"every_s": 1},
        "sidecar": {"port": port},
    }


@contextmanager
def _traffic(brokers: str) -> Iterator[None]:
    """Send events, bad records, a tombstone and requests, time and again, in a thread."""
    over = threading.Event()

    def send() -> None:
        producer = Producer({"bootstrap.servers": brokers})
        with RequestReplyClient(kafka=brokers, requests=ASKED, replies=ANSWERED) as client:
            while not over.is_set():
                for value in (*map(json.dumps, GOOD), *BAD, None):
                    producer.produce(EVENTS, value, str(time.monotonic()))
                producer.flush(10)
                client.call_many(GOOD[:3], return_errors=True)
                over.wait(STEP_S)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        over.set()
        sending.join()
