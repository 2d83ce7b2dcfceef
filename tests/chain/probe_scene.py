"""Where workers are probed: what is sent to them, who comes and goes, and what happens to them."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from confluent_kafka import Message, Producer

from pelton.local_kafka import LocalKafka
from tests.broker.outside import Position, event
from tests.broker.prober import EVERY_S, Prober
from tests.broker.served import Served, eventually
from tests.chain.probe_judge import Event
from tests.chain.storm_crew import Crew, holds
from tests.chain.storm_flow import Flow
from tests.chain.stream import PARTITIONS

RESIDENTS = 2
CHURN_S = 5.0
DRIP_S = 0.05
PATIENCE_S = 90.0


class Form(NamedTuple):
    """How long it lasts at least, and what in it; in seconds."""

    lasts_s: float
    batch_s: float
    python_s: float
    away_s: float
    stall_s: float


class Drip(threading.Thread):
    """Sends an event to each partition in turn until its end; others may be sent between."""

    def __init__(self, brokers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._expected: dict[Position, float] = {}
        self._refused: list[Any] = []
        self._over = threading.Event()
        self._topic, self._numbers = topic, count()
        self._producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True, "log_level": 0})

    def run(self) -> None:
        for number in count():
            if self._over.wait(DRIP_S):
                break
            self.send(number % PARTITIONS)
        self._refused += [None] * self._producer.flush(PATIENCE_S)

    def end(self) -> None:
        """Send no more, and find that all was sent."""
        self._over.set()
        self.join(PATIENCE_S)
        assert not self._refused

    def check(self, scores: Mapping[Position, list[Any]], *, once: bool) -> None:
        """Find a right score of each event, and no other one."""
        found = {at: given if once else sorted(set(given)) for at, given in scores.items()}
        wanted = {at: [score] for at, score in self._expected.items()}
        assert {at: (found.get(at), wanted.get(at)) for at in found | wanted if found.get(at) != wanted.get(at)} == {}

    def send(self, partition: int, **wishes: Any) -> list[Position]:
        """Send an event, and return a list that its position will be in."""
        x, found = next(self._numbers), list[Position]()

        def report(error: Any, message: Message) -> None:
            if error is not None:
                self._refused.append(error)
            else:
                found.append(Position(message.topic(), message.partition(), message.offset()))
                self._expected[found[0]] = 2.0 * x

        self._producer.produce(self._topic, event(x, **wishes), partition=partition, on_delivery=report)
        self._producer.poll(0)
        return found


class Company:
    """Residents that stay, a guest that comes and goes, and what happens to them; tells each event and its end."""

    def __init__(self, crew: Crew, prober: Prober, drip: Drip, flow: Flow, kafka: LocalKafka, folder: Path) -> None:
        self.events: list[Event] = []
        self.everybody = crew.all
        self._crew, self._prober, self._drip, self._flow, self._kafka = crew, prober, drip, flow, kafka
        self._hang_file = folder / "hang"
        self._over, self._no_guest = threading.Event(), threading.Lock()
        self.residents = [self._add() for _ in range(RESIDENTS)]
        for served in self.residents:
            served.until_ready()

    def suffer(self, form: Form) -> None:
        """Let all of it happen, one after the other, while guests come and go.

        Whoever has a long batch may have to give it up to a guest; that one ends it before it leaves.
        """
        began_s = time.monotonic()
        with ThreadPoolExecutor() as aside:
            guests = aside.submit(self._guests)
            try:
                self._await_scores([self._drip.send(0, sleep_s=form.batch_s)])
                self._await_scores([self._drip.send(1, python_s=form.python_s)])
                self._restart_broker(form.away_s)
                self._hang()
                pause(began_s + form.lasts_s)
            finally:
                self._over.set()
            guests.result()

    def dismiss(self) -> None:
        """Have the residents drain at once."""
        self.events += [Event("leave", time.monotonic(), name(served)) for served in self.residents]
        for served in self.residents:
            served.tell()
        for served in self.residents:
            self._see_off(served)

    def logs(self) -> str:
        """Return what each worker says of itself, and the end of its log."""
        return self._crew.logs()

    def starts(self) -> dict[Served, int]:
        """Return how often the worker of each was started."""
        return {served: served.states().count("starting") for served in self.everybody}

    def _add(self) -> Served:
        served = self._crew.add()
        eventually(lambda: served.port, PATIENCE_S, served.log_text)
        self._prober.watch(name(served), served.port)
        return served

    def _see_off(self, served: Served) -> None:
        assert served.ended(PATIENCE_S) == 0, served.log_text()
        self._prober.drop(name(served))

    def _guests(self) -> None:
        while not self._over.is_set():
            with self._no_guest:
                came_s = time.monotonic()
                guest = self._add()
                eventually(lambda guest=guest: holds(guest), PATIENCE_S, self.logs)
                pause(came_s + CHURN_S)
                self.events.append(Event("leave", time.monotonic(), name(guest)))
                guest.tell()
                self._see_off(guest)
            self._over.wait(came_s + 2 * CHURN_S - time.monotonic())

    def _restart_broker(self, away_s: float) -> None:
        """It is over when each partition has given the score of an event that was sent afterwards."""
        self.events.append(broker := Event("broker", time.monotonic()))
        self._kafka.down()
        pause(time.monotonic() + away_s)
        self._kafka.up()
        self._await_scores([self._drip.send(number) for number in range(PARTITIONS)])
        broker.over_s = time.monotonic()

    def _hang(self) -> None:
        """A model that never comes back; it is over when its process is gone. A guest could leave before that."""
        with self._no_guest:
            sent = self._drip.send(2, hang=str(self._hang_file))
            eventually(self._hang_file.exists, PATIENCE_S, self.logs)
        parent, pid = map(int, self._hang_file.read_text().split())
        (hung,) = (served for served in self.residents if served.process.pid == parent)
        self.hung = hung, pid
        self.events.append(hang := Event("hang", time.monotonic(), name(hung)))
        eventually(lambda: not psutil.pid_exists(pid), PATIENCE_S, self.logs)
        hang.over_s = time.monotonic() + 2 * EVERY_S
        eventually(lambda: holds(hung), PATIENCE_S, self.logs)
        self._await_scores([sent])

    def _await_scores(self, sent: list[list[Position]]) -> None:
        eventually(lambda: all(sent) and all(self._scored(at) for (at,) in sent), PATIENCE_S, self.logs)

    def _scored(self, at: Position) -> bool:
        return self._flow.passed[at.partition] >= at.offset


def name(served: Served) -> str:
    """Return the name under which it is probed."""
    return Path(served.config).parent.name


def pause(until_s: float) -> None:
    """Let time pass, in which nothing new happens."""
    time.sleep(max(0.0, until_s - time.monotonic()))
