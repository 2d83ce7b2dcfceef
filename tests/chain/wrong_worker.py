"""Workers as people write them, each with one mistake: `auto-commit` and `no-rewind`.

`auto-commit` lets the client commit what it has handed out, written or not. `no-rewind` aborts a transaction that the
group refuses, and goes on behind it instead of reading again what was in it.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from pelton.logs import configure_logs
from pelton.partition_status import PartitionStatus
from pelton.replica import Seat
from pelton.reports import Reporter, StatusReport, end_with_parent
from pelton.schemas.settings import Settings
from pelton.states import WorkerState

log = structlog.get_logger("pelton.wrong")

COMMIT_EVERY_S = 1.0
"""So long that a transaction is open at nearly every moment, the one at which the group moves on included."""
AUTO_COMMIT_MS = 10
LINGER_MS = 1_000
ANSWER_S = 10.0


class HandWritten:
    """Polls, looks the score up, which is quicker than torch, and writes scores and dead letters in our form."""

    def __init__(
        self, settings: Settings, answers: list[float], consumer: dict[str, Any], producer: dict[str, Any]
    ) -> None:
        stream = self._stream = settings.stream
        self._owned: list[TopicPartition] = []
        self._answers = answers
        self.producer = Producer({"bootstrap.servers": settings.kafka["bootstrap.servers"], **producer})
        given = {"group.id": stream.group, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        self.consumer = Consumer({**settings.kafka, **given, **consumer})

    def join(self, **callbacks: Any) -> None:
        self.consumer.subscribe(list(self._stream.topics), **callbacks)

    def poll(self) -> list[Message]:
        owned = self.consumer.assignment()
        if owned != self._owned:
            log.info("partitions_assigned", partitions=[at.partition for at in owned])
        self._owned = owned
        return [message for message in self.consumer.consume(200, 0.02) if message.error() is None]

    def write(self, messages: list[Message]) -> None:
        for message in messages:
            try:
                event = json.loads(message.value())
            except ValueError:
                where = {"partition": message.partition(), "offset": message.offset()}
                headers = {f"__connect.errors.{name}": str(number).encode() for name, number in where.items()}
                self.producer.produce(self._stream.dead_letter, message.value(), message.key(), headers=headers)
            else:
                self._write_score(message, event)

    def _write_score(self, message: Message, event: dict[str, Any]) -> None:
        score = self._answers[int(event["id"][1:]) % len(self._answers)]
        source = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
        told = json.dumps({"event_id": event["id"], "source": source, "score": score})
        self.producer.produce(self._stream.sink, told, event["id"], message.partition())

    def status(self) -> StatusReport:
        return StatusReport(partitions=[PartitionStatus(at.topic, at.partition) for at in self._owned])


class AutoCommit(HandWritten):
    """Commits on a clock what it was handed."""

    def __init__(self, settings: Settings, answers: list[float]) -> None:
        clock = {"enable.auto.commit": True, "auto.commit.interval.ms": AUTO_COMMIT_MS}
        super().__init__(settings, answers, clock, {"linger.ms": LINGER_MS, "enable.idempotence": True})
        self.join()

    def step(self) -> None:
        self.write(self.poll())
        self.producer.poll(0)


class NoRewind(HandWritten):
    """Commits scores and positions in one transaction; what was in one that was refused, it forgets."""

    def __init__(self, settings: Settings, answers: list[float]) -> None:
        seat = self._seat = Seat(settings.stream.group, None)
        names = {"transactional.id": seat.transactional_id, "transaction.timeout.ms": 8_000}
        super().__init__(settings, answers, {"enable.auto.commit": False}, names)
        self._member: Any = None
        self._began_s = 0.0
        self._next: dict[tuple[str, int], int] = {}
        self.producer.init_transactions(ANSWER_S)
        self.join(on_revoke=lambda *_: self._end(), on_lost=lambda *_: self._abort())

    def step(self) -> None:
        messages = self.poll()
        if messages and self._member is None:
            self._member, self._began_s = self.consumer.consumer_group_metadata(), time.monotonic()
            self.producer.begin_transaction()
        self.write(messages)
        self._next |= {(message.topic(), message.partition()): message.offset() + 1 for message in messages}
        if time.monotonic() - self._began_s > COMMIT_EVERY_S:
            self._end()

    def _end(self) -> None:
        if self._member is None:
            return
        positions = [TopicPartition(*at, offset) for at, offset in self._next.items()]
        try:
            self.producer.flush(ANSWER_S)
            self.producer.send_offsets_to_transaction(positions, self._member, ANSWER_S)
            self.producer.commit_transaction(ANSWER_S)
            self._member, self._next = None, {}
        except KafkaException as refused:
            if not refused.args[0].txn_requires_abort():
                raise
            log.warning("transaction_aborted", reason=refused.args[0].name())
            self._abort()

    def _abort(self) -> None:
        if self._member is None:
            return
        self.producer.abort_transaction(ANSWER_S)
        self._member, self._next = None, {}


MISTAKES = {"auto-commit": AutoCommit, "no-rewind": NoRewind}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mistake", choices=MISTAKES)
    parser.add_argument("answers", type=Path)
    for name in ("settings-fd", "report-fd", "progress-fd", "index"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    end_with_parent(given.report_fd)
    with os.fdopen(given.settings_fd) as file:
        settings = Settings.from_json(file.read())
    configure_logs(settings.log.level, settings.log.format, worker=given.index)
    reporter = Reporter(given.report_fd)
    reporter.state(WorkerState.LOADING)
    worker = MISTAKES[given.mistake](settings, json.loads(given.answers.read_text()))
    for state in (WorkerState.WARMING, WorkerState.JOINING, WorkerState.READY):
        reporter.state(state)
    reporter.report_every(0.2, worker.status, str)
    while True:
        worker.step()


if __name__ == "__main__":
    main()
